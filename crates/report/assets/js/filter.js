// Selection and order of the shown rows.
import { differs, metricText, reasonWords, troubles, variantWords } from "./words.js";

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

/**
 * The choices of each filter, collected from the rows.
 * @param {Index} index
 * @returns {Record<"model" | "metric" | "verdict" | "variant" | "error" | "label", Choice[]>}
 */
export function choices(index) {
  const variants = new Set();
  const reasons = new Set();
  const faults = new Set();
  const labellers = new Set();
  const seen = { error: false, split: false, incomplete: false };
  for (const row of index.rows) {
    for (const [axis, value] of Object.entries(row.variant ?? {})) variants.add(`${axis}=${value}`);
    if (row.reason) reasons.add(row.reason);
    for (const fault of row.faults ?? []) faults.add(fault);
    for (const label of row.labels ?? []) labellers.add(label.labeller);
    if (row.error) seen.error = true;
    if (row.split) seen.split = true;
    if (row.incomplete) seen.incomplete = true;
  }
  const ids = index.metrics.map((metric) => metric.id);
  const error = [];
  if (reasons.size || faults.size || seen.error || seen.split || seen.incomplete) {
    error.push({ value: "any", text: "any" }, { value: "no", text: "nothing" });
  }
  if (seen.error) error.push({ value: "error", text: "has an error" });
  for (const reason of [...reasons].sort()) error.push({ value: reason, text: reasonWords(reason) });
  for (const fault of [...faults].sort()) error.push({ value: `fault:${fault}`, text: `fault: ${reasonWords(fault)}` });
  if (seen.split) error.push({ value: "split", text: "judges disagree" });
  if (seen.incomplete) error.push({ value: "incomplete", text: "incomplete" });
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
    verdict: [
      { value: "fail", text: "fail" },
      { value: "pass", text: "pass" },
      { value: "none", text: "no verdict" },
    ],
    variant: [...variants].sort().map((value) => ({ value, text: value.replace("=", ": ") })),
    error,
    label,
  };
}

/**
 * @param {Row} row
 * @param {string} wanted
 * @returns {boolean}
 */
function matchesError(row, wanted) {
  if (wanted === "any") return troubles(row).length > 0;
  if (wanted === "no") return troubles(row).length === 0;
  if (wanted === "error") return row.error !== undefined;
  if (wanted === "split") return row.split === true;
  if (wanted === "incomplete") return row.incomplete === true;
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
 * The numbers of the rows that match a filter, except for its text.
 * @param {Index} index
 * @param {Filter} filter
 * @returns {number[]}
 */
export function matching(index, filter) {
  const runs = new Set(index.runs.flatMap((run, place) => (run.id === filter.model ? [place] : [])));
  const metrics = new Set(index.metrics.flatMap((metric, place) => (isMetric(metric, filter.metric) ? [place] : [])));
  const found = [];
  for (const [number, row] of index.rows.entries()) {
    if (filter.model && !runs.has(row.run)) continue;
    if (filter.metric && !metrics.has(row.metric)) continue;
    if (filter.verdict && row.verdict !== filter.verdict) continue;
    if (filter.variant && !Object.entries(row.variant ?? {}).some(([axis, value]) => `${axis}=${value}` === filter.variant)) continue;
    if (filter.error && !matchesError(row, filter.error)) continue;
    if (filter.label && !matchesLabel(row, filter.label)) continue;
    found.push(number);
  }
  return found;
}

/** @type {Record<string, (index: Index, row: Row) => string | number>} */
const SORT_VALUES = {
  model: (index, row) => index.runs[row.run]?.id ?? "",
  metric: (index, row) => `${index.metrics[row.metric]?.id} ${index.metrics[row.metric]?.name}`,
  verdict: (_index, row) => ["fail", "none", "pass"].indexOf(row.verdict),
  scenario: (_index, row) => row.scenario,
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
