// Selection and order of the shown rows.
import { differs, metricText, reasonWords, troubles, turnWords, variantWords } from "./words.js";

/** @import {Filter, Index, Row, Metric} from "./types.js" */

/**
 * A choice in a filter.
 * @typedef {object} Choice
 * @property {string} value
 * @property {string} text
 */

/**
 * Whether a filter's value names this metric: its id, or `benchmark/id` if several benchmarks have the id.
 * @param {Metric} metric
 * @param {string} wanted
 * @returns {boolean}
 */
export function isMetric(metric, wanted) {
  return metric.id === wanted || `${metric.benchmark}/${metric.id}` === wanted;
}

// The choices of the verdict, in their order.
const VERDICTS = [
  { value: "fail", text: "fail" },
  { value: "pass", text: "pass" },
  { value: "none", text: "no verdict" },
  { value: "pending", text: "pending" },
];

/**
 * The choices of each filter, collected from the rows.
 * @param {Index} index
 * @returns {Record<"model" | "metric" | "verdict" | "variant" | "tag" | "error" | "label", Choice[]>}
 */
export function choices(index) {
  const variants = new Set();
  const tags = new Set();
  const reasons = new Set();
  const faults = new Set();
  const labellers = new Set();
  const seen = { error: false, split: false, cut: false, incomplete: false, short: false };
  for (const row of index.rows) {
    for (const [axis, value] of Object.entries(row.variant ?? {})) variants.add(`${axis}=${value}`);
    for (const tag of row.tags ?? []) tags.add(tag);
    if (row.reason) reasons.add(row.reason);
    for (const fault of row.faults ?? []) faults.add(fault);
    for (const label of row.labels ?? []) labellers.add(label.labeller);
    if (row.error) seen.error = true;
    if (row.split) seen.split = true;
    if (row.incomplete) seen.incomplete = true;
    if (row.cut) seen.cut = true;
    if (turnWords(index, row).planned) seen.short = true;
  }
  const ids = index.metrics.map((metric) => metric.id);
  const error = [];
  if (reasons.size || faults.size || seen.error || seen.split || seen.incomplete) {
    error.push({ value: "any", text: "any" }, { value: "no", text: "nothing" });
  }
  if (seen.error) error.push({ value: "error", text: "has an error" });
  for (const reason of [...reasons].sort()) error.push({ value: reason, text: reasonWords(reason) });
  for (const fault of [...faults].sort()) error.push({ value: `fault:${fault}`, text: `fault: ${reasonWords(fault)}` });
  if (seen.split) error.push({ value: "split", text: "judges differ" });
  if (seen.cut) error.push({ value: "cut", text: "a reply is cut off" });
  if (seen.incomplete) error.push({ value: "incomplete", text: "a reply is empty or cut off" });
  if (seen.short) error.push({ value: "short", text: "fewer turns than planned" });
  const label = [];
  if (labellers.size) {
    label.push(
      { value: "any", text: "labelled" },
      { value: "no", text: "not labelled" },
      { value: "differs", text: "differs from the judge" },
      { value: "disagree", text: "people differ" },
    );
    for (const labeller of [...labellers].sort()) label.push({ value: `by:${labeller}`, text: `by ${labeller}` });
  }
  return {
    model: index.runs.map((run) => ({ value: run.id, text: run.id })),
    metric: index.metrics.map((metric) => {
      const again = ids.indexOf(metric.id) !== ids.lastIndexOf(metric.id);
      return { value: again ? `${metric.benchmark}/${metric.id}` : metric.id, text: metricText(index, metric) };
    }),
    verdict: VERDICTS.filter((choice) => index.rows.some((row) => row.verdict === choice.value)),
    variant: [...variants].sort().map((value) => ({ value, text: value.replace("=", ": ") })),
    tag: [...tags].sort().map((value) => ({ value, text: value })),
    error,
    label,
  };
}

/**
 * @param {Index} index
 * @param {Row} row
 * @param {string} wanted
 * @returns {boolean}
 */
function matchesError(index, row, wanted) {
  if (wanted === "any") return troubles(row).length > 0;
  if (wanted === "no") return troubles(row).length === 0;
  if (wanted === "error") return row.error !== undefined;
  if (wanted === "split") return row.split === true;
  if (wanted === "incomplete") return row.incomplete === true;
  if (wanted === "cut") return row.cut === true;
  if (wanted === "short") return turnWords(index, row).planned !== "";
  if (wanted.startsWith("fault:")) return row.faults?.includes(wanted.slice(6)) ?? false;
  return row.reason === wanted;
}

/**
 * @param {Row} row
 * @param {string} wanted
 * @returns {boolean}
 */
function matchesLabel(row, wanted) {
  const labels = row.labels ?? [];
  if (wanted === "any") return labels.length > 0;
  if (wanted === "no") return labels.length === 0;
  if (wanted === "differs") return labels.some((label) => differs(row, label));
  if (wanted === "disagree") return new Set(labels.map((label) => label.passed)).size > 1;
  return labels.some((label) => `by:${label.labeller}` === wanted);
}

/**
 * Whether a row has the wanted values of variants: of each axis that is named, one of its values.
 * @param {Row} row
 * @param {string[]} wanted
 * @returns {boolean}
 */
function matchesVariant(row, wanted) {
  const axes = new Set(wanted.map((one) => one.split("=")[0] ?? ""));
  return [...axes].every((axis) => wanted.includes(`${axis}=${row.variant?.[axis] ?? ""}`));
}

/**
 * The numbers of the rows that match a filter, except for its text. Of several values of one filter, a row has any.
 * @param {Index} index
 * @param {Filter} filter
 * @returns {number[]}
 */
export function matching(index, filter) {
  const runs = new Set(index.runs.flatMap((run, place) => (filter.model.includes(run.id) ? [place] : [])));
  const metrics = new Set(index.metrics.flatMap((metric, place) => (filter.metric.some((wanted) => isMetric(metric, wanted)) ? [place] : [])));
  const found = [];
  for (const [number, row] of index.rows.entries()) {
    if (filter.model.length && !runs.has(row.run)) continue;
    if (filter.metric.length && !metrics.has(row.metric)) continue;
    if (filter.verdict.length && !filter.verdict.includes(row.verdict)) continue;
    if (filter.variant.length && !matchesVariant(row, filter.variant)) continue;
    if (filter.tag.length && !filter.tag.some((wanted) => row.tags?.includes(wanted))) continue;
    if (filter.error.length && !filter.error.some((wanted) => matchesError(index, row, wanted))) continue;
    if (filter.label.length && !filter.label.some((wanted) => matchesLabel(row, wanted))) continue;
    found.push(number);
  }
  return found;
}

/**
 * What rows of the same scenario, variant and metric share, whatever model answered.
 * @param {Index} index
 * @param {Row} row
 * @returns {string}
 */
export function scenarioKey(index, row) {
  return JSON.stringify([index.runs[row.run]?.benchmark, row.base, row.metric, row.variant ?? {}]);
}

/** @type {WeakMap<Index, Map<string, [number, number]>>} */
const MODEL_TALLIES = new WeakMap();

/**
 * How much the models differ in the scenario of a row: 0 if all pass or all fail, 1 if half of them pass.
 * @param {Index} index
 * @param {Row} row
 * @returns {number}
 */
export function modelSpread(index, row) {
  let tallies = MODEL_TALLIES.get(index);
  if (!tallies) {
    tallies = new Map();
    for (const one of index.rows) {
      if (one.verdict !== "pass" && one.verdict !== "fail") continue;
      const key = scenarioKey(index, one);
      const [passed, all] = tallies.get(key) ?? [0, 0];
      tallies.set(key, [passed + (one.verdict === "pass" ? 1 : 0), all + 1]);
    }
    MODEL_TALLIES.set(index, tallies);
  }
  const [passed, all] = tallies.get(scenarioKey(index, row)) ?? [0, 0];
  return all === 0 ? 0 : (4 * passed * (all - passed)) / (all * all);
}

/**
 * How much the judges of a row differ, from 0 to 1. Of yes and no, 1 if they are halved; on a scale, 1 from its one end to the other; of
 * categories, the share of judges outside the largest group.
 * @param {Index} index
 * @param {Row} row
 * @returns {number}
 */
function judgeSpread(index, row) {
  if (row.spread !== undefined) return row.spread / (index.metrics[row.metric]?.span ?? 1);
  const [passed, failed] = row.votes ?? [0, 0];
  return passed + failed === 0 ? 0 : (2 * Math.min(passed, failed)) / (passed + failed);
}

/**
 * The orders of rows that have no column, for the list of orders.
 * @type {{value: string, text: string}[]}
 */
export const ORDERS = [
  { value: "", text: "as in the files" },
  { value: "verdict", text: "fails first" },
  { value: "score", text: "score, lowest first" },
  { value: "-score", text: "score, highest first" },
  { value: "judges", text: "judges differ most" },
  { value: "models", text: "models differ most" },
  { value: "troubles", text: "most problems" },
  { value: "labels", text: "most labels" },
  { value: "turns", text: "fewest turns" },
];

/**
 * The score to sort by. Without a number, it is the share of judges that let the row pass; what has no verdict comes last.
 * @param {Row} row
 * @returns {number}
 */
function sortScore(row) {
  if (row.score !== undefined) return row.score;
  if (row.verdict === "none" || row.verdict === "pending") return Number.MAX_VALUE;
  const [passed, failed] = row.votes ?? [0, 0];
  return passed + failed > 0 ? passed / (passed + failed) : Number(row.verdict === "pass");
}

/** @type {Record<string, (index: Index, row: Row) => string | number>} */
const SORT_VALUES = {
  model: (index, row) => index.runs[row.run]?.id ?? "",
  metric: (index, row) => `${index.metrics[row.metric]?.id} ${index.metrics[row.metric]?.name}`,
  verdict: (_index, row) => ["fail", "none", "pending", "pass"].indexOf(row.verdict),
  what: (_index, row) => row.title ?? row.scenario,
  scenario: (_index, row) => row.scenario,
  score: (_index, row) => sortScore(row),
  judges: (index, row) => -judgeSpread(index, row),
  // Rows of one scenario stay together.
  models: (index, row) => `${(2 - modelSpread(index, row)).toFixed(6)} ${scenarioKey(index, row)}`,
  variant: (_index, row) => variantWords(row.variant),
  sample: (_index, row) => row.sample,
  turns: (_index, row) => row.turns,
  troubles: (_index, row) => -troubles(row).length,
  labels: (_index, row) => -(row.labels?.length ?? 0),
};

/**
 * Sorts rows by a column; `-` before its name reverses the order. Equal rows keep their order.
 * @param {Index} index
 * @param {number[]} numbers
 * @param {string} sort
 * @returns {number[]}
 */
export function sorted(index, numbers, sort) {
  const down = sort.startsWith("-");
  const value = SORT_VALUES[down ? sort.slice(1) : sort];
  if (!value) return numbers;
  const order = new Intl.Collator("en", { numeric: true });
  const keyed = numbers.map((number) => {
    const row = index.rows[number];
    return { number, key: row ? value(index, row) : "" };
  });
  keyed.sort((a, b) => {
    const way = typeof a.key === "string" ? order.compare(a.key, String(b.key)) : a.key - Number(b.key);
    return (down ? -way : way) || a.number - b.number;
  });
  return keyed.map((one) => one.number);
}
