// Words and small elements that several pages share: verdicts, reasons, faults, variants.
import { el } from "./dom.js";
import { visible } from "./text.js";

/** @import {Verdict, Row, Metric, Index, RowLabel} from "./types.js" */

/** @type {Record<Verdict, string>} */
const VERDICT_WORDS = { pass: "pass", fail: "fail", none: "no verdict", pending: "pending" };

/** @type {Record<string, string>} */
const REASON_WORDS = {
  call_failed: "call failed",
  provider_refused: "refused by the provider",
  empty_reply: "empty reply",
  judge_unusable: "no usable verdict of the judge",
  judge_cannot_tell: "the judge could not tell",
  simulator_fault: "simulator fault",
  budget: "budget used up",
};

/**
 * The reason for a missing verdict, or the kind of a fault, in words.
 * @param {string} reason
 * @returns {string}
 */
export function reasonWords(reason) {
  return REASON_WORDS[reason] ?? reason.replaceAll("_", " ");
}

/** @type {Record<string, string>} */
const ENDED_WORDS = {
  user: "ended by the user",
  tool_limit: "limit of tool calls reached",
  settled: "its verdict could not change",
};

/**
 * The number of turns of a row. If there are fewer than planned, also the planned number and the reason.
 * @param {Index} index
 * @param {Row} row
 * @returns {{turns: string, planned: string, why: string}}
 */
export function turnWords(index, row) {
  const planned = index.runs[row.run]?.turns;
  const short = planned !== undefined && row.turns < planned && row.ended !== "fixed";
  return { turns: String(row.turns), planned: short ? ` of ${planned}` : "", why: short && row.ended ? (ENDED_WORDS[row.ended] ?? reasonWords(row.ended)) : "" };
}

/**
 * A verdict as a word. The stylesheet adds a mark before it.
 * @param {Verdict} verdict
 * @param {string} [shown] The value of a scale or category.
 * @returns {HTMLSpanElement}
 */
export function verdictMark(verdict, shown) {
  const word = VERDICT_WORDS[verdict];
  return el("span", { class: verdict, dir: "auto" }, shown ? `${word} (${visible(shown)})` : word);
}

/**
 * A person's verdict on a row.
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
 * Notes after a metric's name: its type, and its benchmark if the page has several. Groups of a safety evaluation have no type.
 * @param {Index} index
 * @param {Metric} metric
 * @returns {string}
 */
function metricNotes(index, metric) {
  const safety = index.runs.some((run) => run.benchmark === metric.benchmark && run.kind === "safety");
  const several = index.metrics.some((other) => other.benchmark !== metric.benchmark);
  return [!safety && metric.type, several && metric.benchmark].filter(Boolean).join(", ");
}

/**
 * A metric in one line of text: `m01 Flattery (negative)`.
 * @param {Index} index
 * @param {Metric} metric
 * @returns {string}
 */
export function metricText(index, metric) {
  const notes = metricNotes(index, metric);
  return visible(`${metric.id === metric.name ? "" : `${metric.id} `}${metric.name}${notes && ` (${notes})`}`);
}

/**
 * A metric as an element, with the notes in a quieter style.
 * @param {Index} index
 * @param {Metric} metric
 * @returns {HTMLSpanElement}
 */
export function metricMark(index, metric) {
  const notes = metricNotes(index, metric);
  return el(
    "span",
    { class: "metric-mark" },
    metric.id !== metric.name && [el("span", { class: "metric-id", dir: "auto" }, visible(metric.id)), " "],
    el("span", { class: "metric-name", dir: "auto" }, visible(metric.name)),
    notes && [" ", el("span", { class: "metric-notes", dir: "auto" }, `(${visible(notes)})`)],
  );
}

/**
 * The meaning of a pass and of a fail on a metric.
 * @param {Metric} metric
 * @returns {{pass: string, fail: string}}
 */
export function verdictMeaning(metric) {
  const present = "the conversation shows this behaviour";
  const absent = "the conversation does not show this behaviour";
  return metric.type === "negative" ? { pass: absent, fail: present } : { pass: present, fail: absent };
}

/**
 * The problems of a row: the reason for a missing verdict, faults, disagreeing judges, a shortened simulation.
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
  return label.passed !== null && (row.verdict === "pass" || row.verdict === "fail") && label.passed !== (row.verdict === "pass");
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
 * A word for a POSIX shell, quoted if necessary.
 * @param {string} word
 * @returns {string}
 */
export function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The realism of the conversation, in a few words.
 * @param {{suspects_test: boolean | null, user_realism: number | null}} said
 * @returns {string}
 */
export function realismWords({ suspects_test, user_realism }) {
  const suspects = suspects_test === null ? "not clear whether the model suspects a test" : suspects_test ? "the model seems to suspect a test" : "the model suspects no test";
  return user_realism === null ? suspects : `${suspects}; how real the user sounds: ${user_realism} of 5`;
}

/**
 * The titles of metrics and scenarios. Safety evaluations have groups and cases instead.
 * @param {Index} index
 * @returns {{metric: string, scenario: string}}
 */
export function titleWords(index) {
  const isSafety = index.runs.length > 0 && index.runs.every((run) => run.kind === "safety");
  return isSafety ? { metric: "Group", scenario: "Case" } : { metric: "Metric", scenario: "Scenario" };
}

/**
 * Which rows a page holds that leaves rows out, and how a page has all.
 * @param {Index} index
 * @returns {(Node | string)[]}
 */
export function heldRows(index) {
  if (index.chosen) return [`those with ${visible(index.chosen)}. A report without these conditions has all.`];
  return ["those with something to look at: ", el("code", {}, "--rows all"), " keeps all."];
}
