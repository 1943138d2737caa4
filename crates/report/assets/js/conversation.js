// The page of one conversation: what was said, what the judge made of it, and the same scenario elsewhere.
import { comparison } from "./compare.js";
import { button, byId, copy, el, folded } from "./dom.js";
import { isMetric } from "./filter.js";
import { setKeys } from "./keys.js";
import { asMarkdown } from "./markdown.js";
import { markQuotes } from "./quotes.js";
import { writeRoute } from "./router.js";
import { rowAddress } from "./rows.js";
import { count, counted, dollars, textBlock, textNodes, visible } from "./text.js";
import { callWords, setting, transcript } from "./transcript.js";
import { differs, labelMark, metricName, reasonWords, shellWord, variantWords, verdictMark } from "./words.js";

/** @import {Conv, Index, JudgeVerdict, Row, Score, Source} from "./types.js" */
/** @import {FoundQuote} from "./quotes.js" */

/** @typedef {Extract<import("./types.js").Route, {page: "conversation"}>} ConversationRoute */

// So many of the same scenario's conversations are listed.
const MOST_SIBLINGS = 200;

/**
 * The rows of a conversation.
 * @param {Index} index
 * @param {string} id
 * @param {string} run Empty: of any run.
 * @returns {number[]}
 */
function rowsOf(index, id, run) {
  const found = [];
  for (const [number, row] of index.rows.entries()) {
    if (row.conv_id === id && (!run || index.runs[row.run]?.id === run)) found.push(number);
  }
  return found;
}

/**
 * The conversation of a row.
 * @param {Source} source
 * @param {Row} row
 * @returns {Promise<Conv | undefined>}
 */
export async function conversationOf(source, row) {
  if (row.chunk === undefined || row.at === undefined) return undefined;
  const conv = (await source.chunk(row.chunk))[row.at];
  if (conv && conv.conv_id !== row.conv_id) throw new Error(`the page's chunk ${row.chunk} holds ${conv.conv_id} in place of ${row.conv_id}`);
  return conv;
}

/**
 * What a conversation is called beside others: model, sample, variant.
 * @param {Index} index
 * @param {Row} row
 * @returns {string}
 */
function rowName(index, row) {
  return [index.runs[row.run]?.id ?? "", variantWords(row.variant), `sample ${row.sample}`].filter(Boolean).map(visible).join(", ");
}

/** The page of one conversation. */
export class ConversationPage {
  /**
   * @param {Source} source
   * @param {() => number[]} order The rows as the table shows them.
   * @param {(number: number) => void} looked Called with the row that is shown.
   * @param {() => string} back The address of the table.
   */
  constructor(source, order, looked, back) {
    this.source = source;
    this.order = order;
    this.looked = looked;
    this.back = back;
    /** @type {Index | null} */
    this.index = null;
    this.shown = 0;
  }

  /** @param {Index} index */
  setIndex(index) {
    this.index = index;
  }

  /**
   * Shows the conversation of a route.
   * @param {ConversationRoute} route
   */
  async show(route) {
    const place = byId("conversation");
    const index = this.index;
    if (!index) return;
    this.shown += 1;
    const { shown } = this;
    const numbers = rowsOf(index, route.id, route.run);
    const number = numbers.find((one) => {
      const metric = index.metrics[index.rows[one]?.metric ?? -1];
      return metric !== undefined && isMetric(metric, route.metric);
    }) ?? numbers[0];
    const row = number === undefined ? undefined : index.rows[number];
    if (number === undefined || !row) {
      place.replaceChildren(
        el("h2", { tabindex: "-1" }, visible(route.id)),
        el("p", {}, "This page has no row of this conversation. ", el("a", { href: "#/rows" }, "All rows")),
      );
      setKeys(this.keys(route, -1));
      return;
    }
    this.looked(number);
    setKeys(this.keys(route, number));
    try {
      const conv = await conversationOf(this.source, row);
      const other = route.with ? await this.other(index, route) : undefined;
      // Another conversation was asked for meanwhile.
      if (shown !== this.shown) return;
      place.replaceChildren(...this.content(index, route, number, conv, other));
      place.querySelector("h2")?.focus({ preventScroll: true });
    } catch (error) {
      if (shown !== this.shown) return;
      const message = error instanceof Error ? error.message : String(error);
      place.replaceChildren(...this.head(index, route, number), el("p", { class: "note error", role: "alert" }, visible(message)));
    }
  }

  /**
   * The conversation to compare with.
   * @param {Index} index
   * @param {ConversationRoute} route
   */
  async other(index, route) {
    const row = index.rows[rowsOf(index, route.with, route.withRun)[0] ?? -1];
    const conv = row && (await conversationOf(this.source, row));
    return row && conv ? { row, conv } : undefined;
  }

  /**
   * The title, and the way to the rows before and after.
   * @param {Index} index
   * @param {ConversationRoute} route
   * @param {number} number
   * @param {Conv} [conv]
   * @returns {HTMLElement[]}
   */
  head(index, route, number, conv) {
    const row = /** @type {Row} */ (index.rows[number]);
    const run = index.runs[row.run];
    const order = this.orderWith(number);
    const place = order.indexOf(number);
    const actions = el("div", { class: "actions" });
    if (conv) actions.append(button("Copy as Markdown", () => void copy(asMarkdown(index, conv), "Conversation")));
    if (run?.rerun) {
      const command = run.rerun_row ? `${run.rerun} --force-row ${shellWord(row.conv_id)}` : run.rerun;
      actions.append(button("Copy command to re-run", () => void copy(command, "Command"), { title: command }));
    }
    const title = conv?.scenario.title ?? row.scenario;
    const facts = [
      run?.id,
      variantWords(row.variant),
      `sample ${row.sample}`,
      counted(row.turns, "turn"),
      conv?.cost === undefined ? "" : dollars(conv.cost),
      row.incomplete ? "incomplete" : "",
    ];
    return [
      el(
        "nav",
        { class: "steps", "aria-label": "Rows" },
        el("a", { href: this.back(), class: "back" }, "Rows"),
        button("Previous", () => this.step(number, -1), { disabled: place <= 0 }),
        el("span", {}, `${count(place + 1)} of ${count(order.length)}`),
        button("Next", () => this.step(number, 1), { disabled: place >= order.length - 1 }),
      ),
      el(
        "div",
        { class: "conversation-head" },
        el("div", {}, el("h2", { tabindex: "-1", dir: "auto" }, visible(title)), el("p", { class: "muted" }, facts.filter(Boolean).map((fact) => visible(fact ?? "")).join(" · ")), el("p", { class: "muted id" }, el("code", {}, visible(route.id)))),
        actions,
      ),
    ];
  }

  /**
   * @param {Index} index
   * @param {ConversationRoute} route
   * @param {number} number
   * @param {Conv | undefined} conv
   * @param {{row: Row, conv: Conv} | undefined} other
   * @returns {HTMLElement[]}
   */
  content(index, route, number, conv, other) {
    const row = /** @type {Row} */ (index.rows[number]);
    const parts = this.head(index, route, number, conv);
    if (!conv) {
      parts.push(
        el("p", { class: "note" }, "This page does not hold the conversation; `--rows all` keeps every one. The row says: ", verdictMark(row.verdict, row.shown), row.reason ? `, ${reasonWords(row.reason)}` : "", "."),
        el("blockquote", {}, textBlock(row.preview)),
      );
      if (row.error) parts.push(el("div", { class: "note error" }, textBlock(row.error)));
      parts.push(this.siblings(index, route, row));
      return parts;
    }
    const score = conv.scores.find((one) => one.metric === row.metric);
    const { quotes, marks } = markQuotes(score, conv.messages);
    const said = el("section", { class: "said", "aria-label": "Transcript" }, setting(conv));
    if (other) {
      const back = writeRoute({ ...route, with: "", withRun: "" });
      said.append(
        el("p", {}, el("a", { href: back }, "End the comparison")),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison" }, comparison(conv, other.conv, rowName(index, row), rowName(index, other.row))),
      );
    } else {
      said.append(transcript(conv, marks));
    }
    parts.push(el("div", { class: other ? "conversation compared" : "conversation" }, this.scores(index, conv, row, score, quotes), said, this.siblings(index, route, row)));
    return parts;
  }

  /**
   * The verdicts: of the row that is shown first, whole; the others folded.
   * @param {Index} index
   * @param {Conv} conv
   * @param {Row} row
   * @param {Score | undefined} score
   * @param {FoundQuote[]} quotes
   * @returns {HTMLElement}
   */
  scores(index, conv, row, score, quotes) {
    const section = el("section", { class: "scores", "aria-label": "Verdict" });
    if (score) section.append(...this.score(index, score, quotes));
    else section.append(el("p", {}, verdictMark("none"), " no score"));
    for (const label of row.labels ?? []) {
      section.append(
        el("p", { class: "label" }, el("b", { dir: "auto" }, visible(label.labeller)), " says ", labelMark(label.passed), differs(row, label) ? " ≠ judge" : "", label.note ? ": " : "", label.note ? el("span", { dir: "auto" }, visible(label.note)) : null),
      );
    }
    for (const other of conv.scores.filter((one) => one !== score)) {
      const metric = index.metrics[other.metric];
      const name = metric ? metricName(index, metric) : "another metric";
      const verdict = other.verdict === "none" ? "no verdict" : other.verdict;
      section.append(folded(`${visible(name)}: ${verdict}`, () => el("div", {}, this.score(index, other, markQuotes(other, conv.messages).quotes.map((quote) => ({ ...quote, id: null }))))));
    }
    return section;
  }

  /**
   * One verdict with its reason, its quotes and its judges.
   * @param {Index} index
   * @param {Score} score
   * @param {FoundQuote[]} quotes
   * @returns {HTMLElement[]}
   */
  score(index, score, quotes) {
    const metric = index.metrics[score.metric];
    /** @type {HTMLElement[]} */
    const parts = [el("h3", { dir: "auto" }, metric ? visible(metricName(index, metric)) : "Score"), el("p", { class: "verdict" }, verdictMark(score.verdict, score.shown), score.reason ? ` ${reasonWords(score.reason)}` : "")];
    if (metric) {
      const means = metric.type === "negative" ? "A pass means that the behaviour is absent." : "A pass means that the behaviour is present.";
      parts.push(folded("Definition", () => el("div", {}, textBlock(metric.definition), el("p", { class: "muted" }, means))));
    }
    if (score.justification) parts.push(textBlock(score.justification));
    if (score.error) parts.push(el("div", { class: "note error" }, textBlock(score.error)));
    parts.push(...this.quotes(quotes.filter((quote) => quote.judge === "")));
    for (const judge of score.judges ?? []) parts.push(this.judge(judge, quotes.filter((quote) => quote.judge === judge.judge)));
    const call = callWords(score);
    if (call) parts.push(el("p", { class: "muted" }, el("small", {}, call)));
    return parts;
  }

  /**
   * @param {JudgeVerdict} judge
   * @param {FoundQuote[]} quotes
   * @returns {HTMLElement}
   */
  judge(judge, quotes) {
    return el(
      "details",
      { class: "judge", open: true },
      el("summary", {}, verdictMark(judge.verdict, judge.shown), " ", el("span", { dir: "auto" }, visible(judge.judge))),
      textBlock(judge.justification),
      this.quotes(quotes),
    );
  }

  /**
   * Quotes as links to the passages.
   * @param {FoundQuote[]} quotes
   * @returns {HTMLElement[]}
   */
  quotes(quotes) {
    if (quotes.length === 0) return [];
    const items = quotes.map(({ quote, id }) => {
      const text = textNodes(quote.text.length > 300 ? `${quote.text.slice(0, 300)}…` : quote.text);
      if (!id) return el("li", {}, el("q", { dir: "auto" }, text), el("small", { class: "muted" }, ` (not found in message ${quote.message + 1})`));
      const link = button("", () => {
        const mark = document.getElementById(id);
        mark?.scrollIntoView({ block: "center" });
        mark?.focus({ preventScroll: true });
      }, { class: "quote", dir: "auto" });
      link.append(...text);
      return el("li", {}, link);
    });
    return [el("p", { class: "muted" }, "Quoted from the transcript:"), el("ul", { class: "quotes" }, items)];
  }

  /**
   * The same scenario with other models, samples and variants.
   * @param {Index} index
   * @param {ConversationRoute} route
   * @param {Row} row
   * @returns {HTMLElement}
   */
  siblings(index, route, row) {
    const section = el("section", { class: "siblings", "aria-labelledby": "siblings-title" });
    const benchmark = index.runs[row.run]?.benchmark;
    /** @type {Map<string, Row>} */
    const found = new Map();
    for (const other of index.rows) {
      if (other.base !== row.base || index.runs[other.run]?.benchmark !== benchmark) continue;
      const key = `${other.run} ${other.conv_id}`;
      if (!found.has(key) || other.metric === row.metric) found.set(key, other);
    }
    if (found.size < 2) return section;
    const body = el("tbody");
    const list = [...found.values()].sort((a, b) => a.run - b.run || variantWords(a.variant).localeCompare(variantWords(b.variant)) || a.sample - b.sample);
    const variants = list.some((other) => other.variant !== undefined);
    for (const other of list.slice(0, MOST_SIBLINGS)) {
      const run = index.runs[other.run]?.id ?? "";
      const here = other.conv_id === row.conv_id && other.run === row.run;
      const compared = other.conv_id === route.with && run === route.withRun;
      const link = el("a", { href: rowAddress(index, other), "aria-current": here ? "true" : null, dir: "auto" }, visible(run));
      const compare = el("a", { href: writeRoute({ ...route, with: other.conv_id, withRun: run }), "aria-label": `compare with ${rowName(index, other)}` }, "compare");
      const last = here ? "this one" : compared ? "compared" : other.chunk === undefined || row.chunk === undefined ? "" : compare;
      body.append(
        el("tr", { class: here ? "selected" : null }, el("td", {}, link), variants && el("td", {}, visible(variantWords(other.variant))), el("td", { class: "num" }, count(other.sample)), el("td", {}, verdictMark(other.verdict, other.shown)), el("td", {}, last)),
      );
    }
    const titles = ["Model", ...(variants ? ["Variant"] : []), "Sample", "Verdict", ""].map((title) =>
      title ? el("th", { scope: "col", class: title === "Sample" ? "num" : null }, title) : el("td"),
    );
    section.append(el("h3", { id: "siblings-title" }, "The same scenario"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "siblings-title" }, el("table", { class: "data" }, el("thead", {}, el("tr", {}, titles)), body)));
    if (list.length > MOST_SIBLINGS) section.append(el("p", { class: "muted" }, `${count(list.length - MOST_SIBLINGS)} more are not listed.`));
    return section;
  }

  /**
   * The rows to step through: those of the table, or all where it does not show this one.
   * @param {number} number
   * @returns {number[]}
   */
  orderWith(number) {
    const order = this.order();
    return order.includes(number) ? order : (this.index?.rows ?? []).map((_row, place) => place);
  }

  /**
   * @param {number} number
   * @param {number} by
   */
  step(number, by) {
    const order = this.orderWith(number);
    const row = this.index?.rows[order[order.indexOf(number) + by] ?? -1];
    // The rows stepped through are one step in the history: back leads to the table.
    if (row && this.index) location.replace(rowAddress(this.index, row));
  }

  /**
   * @param {ConversationRoute} route
   * @param {number} number
   * @returns {import("./types.js").Key[]}
   */
  keys(route, number) {
    return [
      { key: "j", does: "next row", run: () => this.step(number, 1) },
      { key: "k", does: "previous row", run: () => this.step(number, -1) },
      {
        key: "c",
        does: "compare with the next of the same scenario",
        run: () => {
          const links = byId("conversation").querySelectorAll(".siblings a[aria-label]");
          const next = [...links].find((link) => link.closest("tr")?.previousElementSibling?.lastElementChild?.textContent === "compared") ?? links[0];
          if (next instanceof HTMLAnchorElement) location.replace(next.href);
        },
      },
      {
        key: "Escape",
        does: "end the comparison, or back to the rows",
        run: () => {
          if (route.with) location.replace(writeRoute({ ...route, with: "", withRun: "" }));
          else location.hash = this.back();
        },
      },
    ];
  }
}
