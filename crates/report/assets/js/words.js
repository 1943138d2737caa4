// Words and small parts that several pages show: verdicts, reasons, faults, variants.
import { el } from "./dom.js";
import { visible } from "./text.js";

/** @import {Verdict, Row, Metric, Index, RowLabel} from "./types.js" */

/** @type {Record<Verdict, string>} */
const VERDICT_WORDS = { pass: "pass", fail: "fail", none: "no verdict" };

/** @type {Record<string, string>} */
const REASON_WORDS = {
  call_failed: "call failed",
  provider_refused: "refused by the provider",
  empty_reply: "empty reply",
  judge_unusable: "no usable verdict of the judge",
  simulator_fault: "simulator fault",
  budget: "budget used up",
};

/**
 * A reason without a verdict, or the kind of a fault, in words.
 * @param {string} reason
 * @returns {string}
 */
export function reasonWords(reason) {
  return REASON_WORDS[reason] ?? reason.replaceAll("_", " ");
}

/**
 * A verdict as a word; the stylesheet puts its mark before it.
 * @param {Verdict} verdict
 * @param {string} [shown] The value of a scale or category.
 * @returns {HTMLSpanElement}
 */
export function verdictMark(verdict, shown) {
  const word = VERDICT_WORDS[verdict];
  return el("span", { class: verdict, dir: "auto" }, shown ? `${word} (${visible(shown)})` : word);
}

/**
 * What a person said of a row.
 * @param {boolean | null} passed
 * @returns {HTMLSpanElement}
 */
export function labelMark(passed) {
  return passed === null ? el("span", { class: "none" }, "unclear") : verdictMark(passed ? "pass" : "fail");
}

/**
 * The values of a variant: `age: old, domain: code`.
 * @param {Record<string, string> | undefined} variant
 * @returns {string}
 */
export function variantWords(variant) {
  return Object.entries(variant ?? {})
    .map(([axis, value]) => `${axis}: ${value}`)
    .join(", ");
}

/**
 * The name of a metric, with its benchmark where the page has several.
 * @param {Index} index
 * @param {Metric} metric
 * @returns {string}
 */
export function metricName(index, metric) {
  const several = index.metrics.some((other) => other.benchmark !== metric.benchmark);
  return several ? `${metric.name} (${metric.benchmark})` : metric.name;
}

/**
 * What stands against a row besides its verdict: why it has none, faults, judges that disagree, a simulation cut short.
 * @param {Row} row
 * @returns {string[]}
 */
export function troubles(row) {
  const found = [];
  if (row.reason) found.push(reasonWords(row.reason));
  else if (row.error) found.push("error");
  for (const fault of new Set(row.faults)) found.push(`fault: ${reasonWords(fault)}`);
  if (row.split) found.push("judges disagree");
  if (row.incomplete) found.push("incomplete");
  return found;
}

/**
 * Whether a person's verdict differs from the judge's.
 * @param {Row} row
 * @param {RowLabel} label
 * @returns {boolean}
 */
export function differs(row, label) {
  return label.passed !== null && row.verdict !== "none" && label.passed !== (row.verdict === "pass");
}

/**
 * The number of a row in a newer index, or -1.
 * @param {Index} before
 * @param {number} number
 * @param {Index} now
 * @returns {number}
 */
export function sameRow(before, number, now) {
  const old = before.rows[number];
  if (!old) return -1;
  const run = before.runs[old.run]?.id;
  const metric = before.metrics[old.metric]?.id;
  return now.rows.findIndex((row) => row.conv_id === old.conv_id && now.runs[row.run]?.id === run && now.metrics[row.metric]?.id === metric);
}

/**
 * A word as a POSIX shell takes it, in quotes where it needs them.
 * @param {string} word
 * @returns {string}
 */
export function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
