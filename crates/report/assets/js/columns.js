// The columns of the table of rows.
import { el } from "./dom.js";
import { modelMark } from "./model_mark.js";
import { rowAddress } from "./router.js";
import { patternOf } from "./scan.js";
import { count, textNodes, visible } from "./text.js";
import { differs, labelMark, metricMark, metricText, titleWords, troubles, turnWords, variantWords, verdictMark } from "./words.js";

/** @import {Index, Metric, Row, Run} from "./types.js" */
/** @import {Column} from "./table.js" */

/**
 * Sets CSS variables with the most letters in each column, so that no column is wider than its content. The stylesheet decides the
 * final widths.
 * @param {HTMLElement} table
 * @param {Index} index
 */
export function measureColumns(table, index) {
  table.classList.toggle("scales", index.rows.some((row) => row.shown !== undefined));
  /** @param {string} column @param {Iterable<string>} texts */
  const set = (column, texts) => {
    let most = 0;
    for (const text of texts) most = Math.max(most, text.length);
    table.style.setProperty(`--${column}`, String(most));
  };
  /** @param {(row: Row) => string} text */
  const ofRows = (text) => new Set(index.rows.map(text));
  set("model", index.runs.map((run) => run.id));
  set("metric", index.metrics.map((metric) => metricText(index, metric)));
  set("variant", ofRows((row) => variantWords(row.variant)));
  set("labels", ofRows((row) => "✗ fail ≠ ".repeat(row.labels?.length ?? 0)));
}

/**
 * What the searched text is, and where it was found.
 * @typedef {object} Searched
 * @property {Map<number, string> | null} hits
 * @property {string} find
 */

/**
 * A text with each place of a searched text marked.
 * @param {string} text
 * @param {string} wanted
 * @returns {(Node | string)[]}
 */
function withMarks(text, wanted) {
  const match = wanted ? patternOf(wanted).exec(text) : null;
  if (!match) return textNodes(text);
  const [at, end] = [match.index, match.index + match[0].length];
  return [...textNodes(text.slice(0, at)), el("mark", {}, textNodes(text.slice(at, end))), ...textNodes(text.slice(end))];
}

/**
 * The verdict of a row, and how many judges agree with it.
 * @param {Row} row
 * @returns {Node[]}
 */
function verdictCell(row) {
  const chip = el("span", { class: `chip ${row.verdict}-chip` }, verdictMark(row.verdict, row.shown));
  if (!row.votes || row.verdict === "none") return [chip];
  const [passed, failed] = row.votes;
  return [chip, el("span", { class: "votes muted" }, `${row.verdict === "pass" ? passed : failed} of ${passed + failed}`)];
}

/**
 * What a person said of a row, as chips.
 * @param {Row} row
 * @returns {Node[]}
 */
function labelChips(row) {
  return (row.labels ?? []).map((label) => el("span", { class: "chip", title: `${visible(label.labeller)}${differs(row, label) ? ": differs from the judge" : ""}` }, labelMark(label.passed), differs(row, label) ? el("strong", {}, " ≠") : null));
}

/**
 * The model of a row. Where the id of the run names its file too, that stands below the name, which a long id would push out of sight.
 * @param {Run | undefined} run
 * @returns {Node[]}
 */
function modelCell(run) {
  if (!run) return [];
  const file = run.id.endsWith(`/${run.target}`) ? run.id.slice(0, -run.target.length - 1) : "";
  const name = document.createTextNode(visible(file ? run.target : run.id));
  return [modelMark(run.target), name, ...(file ? [el("small", { class: "muted of-file" }, visible(file))] : [])];
}

/**
 * The problems of a row, those that its verdict does not show already.
 * @param {Index} index
 * @param {Row} row
 * @returns {HTMLElement[]}
 */
function problems(index, row) {
  const { turns, planned, why } = turnWords(index, row);
  const shown = troubles(row).filter((text) => !row.votes || text !== "judges disagree");
  if (planned) shown.push(`${turns}${planned} turns`);
  return shown.map((text) => el("span", { class: "trouble", title: text.endsWith("turns") && why ? why : null }, visible(text)));
}

/**
 * The columns to show. A column whose cells are all the same among the shown rows is left out.
 * @param {Index} index
 * @param {number[]} numbers The shown rows.
 * @param {Searched} searched
 * @returns {Column[]}
 */
export function rowColumns(index, numbers, { hits, find }) {
  const titles = titleWords(index);
  /** @param {number} number @returns {Row} */
  const at = (number) => /** @type {Row} */ (index.rows[number]);
  /** Whether shown rows differ in something. @param {(row: Row) => string | number} of */
  const varies = (of) => {
    const first = numbers[0];
    return first !== undefined && numbers.some((number) => of(at(number)) !== of(at(first)));
  };
  const several = { models: varies((row) => row.run), metrics: varies((row) => row.metric), variants: varies((row) => variantWords(row.variant)) };
  /** @param {Row} row */
  const model = (row) => visible(index.runs[row.run]?.id ?? "");
  /** @param {Row} row */
  const metric = (row) => /** @type {Metric} */ (index.metrics[row.metric]);
  /** What narrow windows show below. @param {Row} row */
  const meta = (row) => [several.models && model(row), several.metrics && metricText(index, metric(row)), several.variants && visible(variantWords(row.variant))].filter(Boolean).join(" · ");
  /** @param {number} number */
  const what = (number) => {
    const row = at(number);
    const says = hits?.get(number) ?? row.said ?? row.preview;
    return [
      el("a", { href: rowAddress(index, row, "", find), dir: "auto", title: row.scenario }, withMarks(visible(row.title ?? row.scenario), hits ? find : "")),
      el("span", { class: "says", dir: "auto" }, problems(index, row), withMarks(says, hits ? find : "")),
      el("span", { class: "below", title: meta(row) }, meta(row)),
    ];
  };
  /** @type {(Column | false)[]} */
  const columns = [
    { id: "verdict", title: "Verdict", cell: (number) => verdictCell(at(number)) },
    { id: "what", title: titles.scenario, cell: what },
    several.models && { id: "model", title: "Model", cell: (number) => modelCell(index.runs[at(number).run]) },
    several.metrics && { id: "metric", title: titles.metric, cell: (number) => [metricMark(index, metric(at(number)))] },
    several.variants && { id: "variant", title: "Variant", cell: (number) => [visible(variantWords(at(number).variant))] },
    varies((row) => row.sample) && { id: "sample", title: "Sample", cell: (number) => [count(at(number).sample)] },
    numbers.some((number) => (at(number).labels?.length ?? 0) > 0) && { id: "labels", title: "Labels", cell: (number) => labelChips(at(number)) },
  ];
  return columns.filter((column) => column !== false);
}
