// The failed rows of a metric, grouped by the words that the judges' reasons share: a help for reading, and no statistic.
import { byId, el, waysOut } from "./dom.js";
import { isMetric } from "./filter.js";
import { modelMark } from "./model_mark.js";
import { emptyFilter, rowAddress, writeRoute } from "./router.js";
import { conversationOf } from "./source.js";
import { count, counted, textNodes, visible } from "./text.js";
import { metricText } from "./words.js";

/** @import {Index, Metric, Row, Source} from "./types.js" */

/**
 * Rows whose reasons share words.
 * @typedef {object} Theme
 * @property {string[]} words
 * @property {number[]} rows
 */

const MOST_THEMES = 8;
const EXAMPLES = 3;
// A theme has at least this many rows.
const LEAST_ROWS = 2;
// Words that nearly every reason has, or that say nothing alone.
const COMMON = new Set("about after again also although assistant because been before being between both conversation does doing from gives have here into itself like made make makes message messages model more only other over reply response says shows some such than that their them then there these they this those though user user's users very what when where which while will with without would".split(" "));

/**
 * The words of a reason that may name a theme.
 * @param {string} text
 * @returns {Set<string>}
 */
function themeWords(text) {
  const found = text.toLowerCase().match(/[\p{L}’']{4,}/gu) ?? [];
  return new Set(found.filter((word) => !COMMON.has(word)));
}

/**
 * The themes of rows, the largest first. Each row is in one theme at most: in that of the word which most of the rows left share.
 * @param {{number: number, words: Set<string>}[]} rows
 * @returns {{themes: Theme[], rest: number[]}}
 */
function themesOf(rows) {
  /** @type {Theme[]} */
  const themes = [];
  let left = rows;
  // A word of nearly all reasons separates nothing.
  const most = Math.max(LEAST_ROWS, Math.floor(rows.length * 0.8));
  while (themes.length < MOST_THEMES) {
    const [first] = byCount(left).filter(([, times]) => times >= LEAST_ROWS && (times <= most || themes.length > 0));
    if (!first) break;
    const [word] = first;
    const inside = left.filter((row) => row.words.has(word));
    const others = byCount(inside).filter(([other, times]) => other !== word && times * 2 > inside.length).slice(0, 2);
    themes.push({ words: [word, ...others.map(([other]) => other)], rows: inside.map((row) => row.number) });
    left = left.filter((row) => !row.words.has(word));
  }
  return { themes: themes.sort((a, b) => b.rows.length - a.rows.length), rest: left.map((row) => row.number) };
}

/**
 * The words of rows with the number of rows that have each, the most frequent first.
 * @param {{words: Set<string>}[]} rows
 * @returns {[string, number][]}
 */
function byCount(rows) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { words: found } of rows) for (const word of found) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/**
 * Examples of a theme, of each model in turn: the rows of one model alone would hide that others do the same.
 * @param {Index} index
 * @param {number[]} numbers
 * @param {number[]} runs The models, those with most rows first.
 * @returns {number[]}
 */
function examplesOf(index, numbers, runs) {
  const ofEach = runs.map((run) => numbers.filter((number) => (index.rows[number]?.run ?? 0) === run));
  const longest = Math.max(0, ...ofEach.map((own) => own.length));
  const inTurn = Array.from({ length: longest }, (_, turn) => ofEach.flatMap((own) => own.slice(turn, turn + 1)));
  return inTurn.flat().slice(0, EXAMPLES);
}

/**
 * One theme: its words, how many rows of each model are in it, and examples.
 * @param {Index} index
 * @param {string} title
 * @param {number[]} numbers
 * @returns {HTMLElement}
 */
function themePart(index, title, numbers) {
  /** @type {Map<number, number>} */
  const models = new Map();
  for (const number of numbers) {
    const run = index.rows[number]?.run ?? 0;
    models.set(run, (models.get(run) ?? 0) + 1);
  }
  const byRows = [...models].sort((a, b) => b[1] - a[1]);
  const tally = byRows.map(([run, times]) => el("span", { class: "theme-model" }, modelMark(index.runs[run]?.target ?? ""), `${visible(index.runs[run]?.id ?? "")} ${count(times)}`));
  const examples = examplesOf(index, numbers, byRows.map(([run]) => run)).map((number) => {
    const row = /** @type {Row} */ (index.rows[number]);
    return el("li", {}, el("a", { href: rowAddress(index, row), dir: "auto" }, visible(row.title ?? row.scenario)), el("span", { class: "muted" }, ` ${visible(index.runs[row.run]?.id ?? "")}: `), el("span", { dir: "auto" }, textNodes(row.said ?? "")));
  });
  return el("section", { class: "theme" }, el("h3", { dir: "auto" }, visible(title), el("span", { class: "muted" }, ` ${counted(numbers.length, "row")}`)), el("p", {}, tally), el("ul", {}, examples));
}

/**
 * The whole reason of a failed row: that of each judge who decided as the row says.
 * @param {Source} source
 * @param {Row} row
 * @returns {Promise<string>}
 */
async function wholeReason(source, row) {
  const conv = await conversationOf(source, row);
  const score = conv?.scores.find((one) => one.metric === row.metric);
  const agreeing = (score?.judges ?? []).filter((judge) => judge.verdict === row.verdict).map((judge) => judge.justification);
  return agreeing.length > 0 ? agreeing.join("\n") : (score?.justification ?? row.said ?? "");
}

/** The page of the themes of a metric's failed rows. */
export class ThemesPage {
  /** @param {Source} source */
  constructor(source) {
    this.source = source;
    /** @type {Index | null} */
    this.index = null;
    this.shown = 0;
  }

  /** @param {Index} index */
  setIndex(index) {
    this.index = index;
  }

  /**
   * Shows the themes of a metric, once all reasons are read.
   * @param {string} wanted The metric, as in addresses.
   */
  async show(wanted) {
    const { index } = this;
    if (!index) return;
    this.shown += 1;
    const { shown } = this;
    const place = byId("themes");
    const metric = index.metrics.findIndex((one) => isMetric(one, wanted));
    const of = index.metrics[metric];
    if (!of) {
      place.replaceChildren(el("h2", { tabindex: "-1" }, wanted ? "No such metric" : "Themes"), el("p", {}, wanted ? "This report has no metric " : "Themes are of the failed rows of one metric; its row in the matrix leads to them.", wanted && el("code", {}, visible(wanted)), wanted && "."), waysOut());
      return;
    }
    const failed = index.rows.flatMap((row, number) => (row.metric === metric && row.verdict === "fail" && row.said ? [{ number, row }] : []));
    const progress = el("progress", { max: failed.length, value: 0, "aria-label": "Reasons read" });
    place.replaceChildren(...this.head(index, of, wanted), el("p", { class: "muted", role: "status" }, `Reading the reasons of ${counted(failed.length, "failed row")}. `, progress));
    /** @type {{number: number, words: Set<string>}[]} */
    const rows = [];
    try {
      for (const { number, row } of failed) {
        rows.push({ number, words: themeWords(await wholeReason(this.source, row)) });
        if (shown !== this.shown) return;
        progress.value = rows.length;
      }
    } catch (error) {
      if (shown === this.shown) place.replaceChildren(...this.head(index, of, wanted), el("p", { class: "note error", role: "alert" }, visible(error instanceof Error ? error.message : String(error))));
      return;
    }
    const { themes, rest } = themesOf(rows);
    place.replaceChildren(
      ...this.head(index, of, wanted),
      el("p", { class: "muted" }, `${counted(failed.length, "failed row")} with a reason, grouped by words that the judges' reasons share. This is a help for reading and no statistic: words are not meanings, and each row is in one group only.`),
      ...themes.map((theme) => themePart(index, theme.words.join(", "), theme.rows)),
      rest.length > 0 ? themePart(index, themes.length > 0 ? "no shared word" : "all", rest) : "",
    );
  }

  /**
   * @param {Index} index
   * @param {Metric} metric
   * @param {string} wanted
   * @returns {HTMLElement[]}
   */
  head(index, metric, wanted) {
    const rows = writeRoute({ page: "rows", filter: emptyFilter({ metric: [wanted], verdict: ["fail"] }) });
    return [el("p", { class: "steps" }, el("a", { href: rows, class: "back" }, "Failed rows of the metric")), el("h2", { tabindex: "-1", dir: "auto" }, `Themes: ${metricText(index, metric)}`)];
  }
}
