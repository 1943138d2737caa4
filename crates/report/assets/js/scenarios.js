// The scenarios of a metric: their order, their list, and the address of each.
import { button, byId, el, waysOut } from "./dom.js";
import { isMetric } from "./filter.js";
import { setKeys } from "./keys.js";
import { modelMark } from "./model_mark.js";
import { emptyFilter, writeRoute } from "./router.js";
import { count, counted, visible } from "./text.js";
import { metricWords } from "./verdict.js";
import { heldRows, metricText } from "./words.js";

/** @import {Index, Metric, Row, ScenariosRoute} from "./types.js" */

/**
 * A scenario in all models.
 * @typedef {object} ScenarioRows
 * @property {string} base The scenario without its variant.
 * @property {Row} row Its first row.
 * @property {number} rows
 * @property {number} fails
 * @property {number} spread The largest less the smallest share of failed rows of a model.
 * @property {Map<number, {fails: number, judged: number}>} models By the number of the run.
 */

// How many scenarios are listed at once.
const LISTED = 200;
// With more models than this, the list has no column for each.
const MOST_NAMED_MODELS = 6;

/** @type {WeakMap<Index, Map<number, ScenarioRows[]>>} */
const KNOWN_SCENARIOS = new WeakMap();

/**
 * The scenarios of a metric, those in which the models differ most first, then those with the most failed rows.
 * @param {Index} index
 * @param {number} metric The number of the metric.
 * @returns {ScenarioRows[]}
 */
export function scenariosOf(index, metric) {
  const known = KNOWN_SCENARIOS.get(index) ?? new Map();
  KNOWN_SCENARIOS.set(index, known);
  const listed = known.get(metric) ?? gathered(index, metric);
  known.set(metric, listed);
  return listed;
}

/**
 * @param {Index} index
 * @param {number} metric
 * @returns {ScenarioRows[]}
 */
function gathered(index, metric) {
  /** @type {Map<string, ScenarioRows>} */
  const found = new Map();
  for (const row of index.rows) {
    if (row.metric !== metric) continue;
    const of = found.get(row.base) ?? { base: row.base, row, rows: 0, fails: 0, spread: 0, models: new Map() };
    found.set(row.base, of);
    const model = of.models.get(row.run) ?? { fails: 0, judged: 0 };
    of.models.set(row.run, model);
    of.rows += 1;
    if (row.verdict === "fail") of.fails += 1;
    if (row.verdict === "fail") model.fails += 1;
    if (row.verdict !== "none") model.judged += 1;
  }
  for (const of of found.values()) {
    const shares = [...of.models.values()].filter((model) => model.judged > 0).map((model) => model.fails / model.judged);
    of.spread = shares.length > 1 ? Math.max(...shares) - Math.min(...shares) : 0;
  }
  return [...found.values()].sort((a, b) => b.spread - a.spread || b.fails / b.rows - a.fails / a.rows);
}

/**
 * The address of the list of a metric's scenarios.
 * @param {Metric} metric
 * @returns {string}
 */
export function scenariosAddress(metric) {
  return writeRoute({ page: "scenarios", metric: metric.id, benchmark: metric.benchmark });
}

/**
 * The address of the scenario of a row, in all models.
 * @param {Index} index
 * @param {Row} row
 * @param {string[]} [pair] The ids of two runs to compare.
 * @returns {string}
 */
export function scenarioAddress(index, row, pair = []) {
  const run = index.runs[row.run];
  return writeRoute({ page: "scenario", id: row.base, benchmark: run?.benchmark ?? "", metric: index.metrics[row.metric]?.id ?? "", run: run?.id ?? "", row: row.conv_id, pair });
}

/**
 * How many rows of the report are of the same scenario, benchmark and metric as a row.
 * @param {Index} index
 * @param {Row} row
 * @returns {Row[]}
 */
export function sameScenario(index, row) {
  const benchmark = index.runs[row.run]?.benchmark;
  return index.rows.filter((other) => other.base === row.base && other.metric === row.metric && index.runs[other.run]?.benchmark === benchmark);
}

/** Whether a report has a scenario of several rows. @param {Index} index @returns {boolean} */
export function hasScenarios(index) {
  const seen = new Set();
  return index.rows.some((row) => {
    const key = JSON.stringify([row.metric, row.base]);
    const isKnown = seen.has(key);
    seen.add(key);
    return isKnown;
  });
}

/** What stands in the place of a row that the page lacks: a page may hold a part of the rows only. @param {Index} index @returns {string} */
export function absentWords(index) {
  return index.rows.length < index.total_rows ? "not on this page" : "no row";
}

/**
 * Says that counts are of the rows that the page holds, where that is a part of them.
 * @param {Index} index
 * @returns {HTMLElement | null}
 */
export function heldWords(index) {
  if (index.rows.length >= index.total_rows) return null;
  return el("p", { class: "muted held" }, `Counted are the ${count(index.rows.length)} of ${counted(index.total_rows, "row")} that this page holds, `, ...heldRows(index));
}

/**
 * How a model did in a scenario, in words.
 * @param {Index} index
 * @param {{fails: number, judged: number} | undefined} model
 * @returns {HTMLElement}
 */
function modelWords(index, model) {
  if (!model || model.judged === 0) return el("span", { class: "none" }, model ? "no verdict" : absentWords(index));
  if (model.fails === 0) return el("span", { class: "pass" }, "pass");
  return el("span", { class: "fail" }, model.judged === 1 ? "fail" : `${model.fails} of ${model.judged} fail`);
}

/** The list of a metric's scenarios. */
export class ScenariosPage {
  constructor() {
    /** @type {Index | null} */
    this.index = null;
    /** How many scenarios are listed. */
    this.listed = LISTED;
  }

  /** @param {Index} index */
  setIndex(index) {
    this.index = index;
  }

  /** @param {ScenariosRoute} route */
  show(route) {
    const { index } = this;
    if (!index) return;
    const place = byId("scenarios");
    const number = index.metrics.findIndex((metric, at) => (route.metric ? isMetric(metric, route.metric) && (!route.benchmark || metric.benchmark === route.benchmark) : index.rows.some((row) => row.metric === at)));
    const metric = index.metrics[number];
    if (!metric) {
      place.replaceChildren(el("h2", { tabindex: "-1" }, "Scenarios"), el("p", {}, route.metric ? "This report has no metric " : "This report holds no rows.", route.metric && el("code", {}, visible(route.metric)), route.metric && "."), waysOut());
      return;
    }
    this.listed = LISTED;
    this.draw(index, number, metric);
    setKeys(this.keys());
  }

  /**
   * @param {Index} index
   * @param {number} number The number of the metric.
   * @param {Metric} metric
   */
  draw(index, number, metric) {
    const all = scenariosOf(index, number);
    const fails = all.filter((of) => of.fails > 0).length;
    const apart = all.filter((of) => of.spread > 0).length;
    const models = index.runs.length > 1 ? `, and in ${count(apart)} the models differ` : "";
    const rows = writeRoute({ page: "rows", filter: emptyFilter({ metric: [metric.id], sort: "models" }) });
    const more = all.length - this.listed;
    byId("scenarios").replaceChildren(
      el("h2", { tabindex: "-1" }, "Scenarios"),
      this.metricChoice(index, number),
      metricWords(index, metric),
      el("p", {}, el("b", {}, `${count(fails)} of ${counted(all.length, "scenario")} ${fails === 1 ? "has" : "have"} a failed row${models}.`), " ", el("span", { class: "muted" }, index.runs.length > 1 ? "Those in which they differ most come first." : "Those with the most failed rows come first."), " ", el("a", { href: rows }, "As rows")),
      heldWords(index) ?? "",
      this.table(index, all.slice(0, this.listed)),
      more > 0 ? button(`Show ${count(Math.min(more, LISTED))} more of ${count(more)}`, () => this.showMore(index, number, metric)) : "",
    );
  }

  /** @param {Index} index @param {number} number @param {Metric} metric */
  showMore(index, number, metric) {
    const before = this.listed;
    this.listed += LISTED;
    this.draw(index, number, metric);
    this.links()[before]?.focus();
  }

  /**
   * @param {Index} index
   * @param {number} number
   * @returns {HTMLElement}
   */
  metricChoice(index, number) {
    const select = el("select", { id: "scenarios-metric" }, index.metrics.map((metric, at) => el("option", { value: at, selected: at === number }, metricText(index, metric))));
    select.addEventListener("change", () => {
      const metric = index.metrics[Number(select.value)];
      if (metric) location.hash = scenariosAddress(metric);
    });
    return el("label", { for: "scenarios-metric", class: "choice", hidden: index.metrics.length < 2 }, el("span", {}, "Metric"), select);
  }

  /**
   * @param {Index} index
   * @param {ScenarioRows[]} listed
   * @returns {HTMLElement}
   */
  table(index, listed) {
    const used = new Set(listed.flatMap((of) => [...of.models.keys()]));
    const runs = [...used].sort((a, b) => a - b);
    const columns = runs.length > 1 && runs.length <= MOST_NAMED_MODELS ? runs : [];
    const head = el("tr", {}, el("th", { scope: "col" }, "Scenario"), el("th", { scope: "col", class: "fails" }, "Fails"), columns.map((run) => el("th", { scope: "col", class: "of-model" }, modelMark(index.runs[run]?.target ?? ""), visible(index.runs[run]?.id ?? ""))));
    const lines = listed.map((of, at) => {
      const title = of.row.title && of.row.title !== of.base ? el("small", { class: "muted", dir: "auto" }, visible(of.base)) : null;
      const link = el("a", { href: scenarioAddress(index, of.row), dir: "auto", tabindex: at === 0 ? "0" : "-1" }, visible(of.row.title ?? of.base));
      return el("tr", {}, el("th", { scope: "row" }, link, title), el("td", { class: "fails" }, `${of.fails} of ${of.rows}`), columns.map((run) => el("td", { class: "of-model" }, modelWords(index, of.models.get(run)))));
    });
    return el("div", { class: "matrix-scroll", role: "region", "aria-label": "List of scenarios" }, el("table", { class: "scenario-list" }, el("thead", {}, head), el("tbody", {}, lines)));
  }

  /** @returns {HTMLAnchorElement[]} */
  links() {
    return [...byId("scenarios").querySelectorAll("tbody a")].filter((link) => link instanceof HTMLAnchorElement);
  }

  /**
   * Moves to another scenario: one tab stop for the list.
   * @param {number} by
   */
  step(by) {
    const links = this.links();
    const now = links.findIndex((link) => link === document.activeElement);
    const next = links[now < 0 ? 0 : Math.max(0, Math.min(links.length - 1, now + by))];
    if (!next) return;
    for (const link of links) link.setAttribute("tabindex", link === next ? "0" : "-1");
    next.focus();
  }

  /** @returns {import("./types.js").Key[]} */
  keys() {
    return [
      { key: "j ArrowDown", does: "next scenario; Enter opens it", run: () => this.step(1) },
      { key: "k ArrowUp", does: "previous scenario", run: () => this.step(-1) },
      { key: "Escape", does: "back", run: () => history.back() },
    ];
  }
}
