// The question to a person who labels a row, and the part shown after the answer.
import { el, keyButton, waysOut } from "./dom.js";
import { messageLinks } from "./references.js";
import { rowAddress } from "./router.js";
import { count, counted, textBlock, visible } from "./text.js";
import { definition } from "./verdict.js";
import { labelMark, metricMark, verdictMark, verdictMeaning } from "./words.js";

/** @import {Conv, HumanLabel, Index, Metric, Row} from "./types.js" */

/**
 * An answer that can be undone.
 * @typedef {object} Answer
 * @property {string} run
 * @property {number} number The number of the row.
 * @property {HumanLabel} label
 * @property {HumanLabel | undefined} before
 * @property {Conv | undefined} conv
 */

/**
 * The metric with its definition, and the meaning of each answer.
 * @param {Index} index
 * @param {Metric} metric
 * @param {Row | null} row The row whose verdict is shown before the answer; null to show no verdict.
 * @returns {HTMLElement}
 */
export function question(index, metric, row) {
  const { pass, fail } = verdictMeaning(metric);
  return el(
    "section",
    { class: "question", "aria-label": "Question" },
    el("h3", {}, metricMark(index, metric)),
    definition(metric),
    el("p", { class: "meaning" }, el("b", {}, "Pass"), `: ${pass}.`),
    el("p", { class: "meaning" }, el("b", {}, "Fail"), `: ${fail}.`),
    row && el("p", {}, "The judge says ", verdictMark(row.verdict, row.shown)),
  );
}

/**
 * The person's last answer, and the judge's verdict on that row.
 * @param {Index} index
 * @param {Answer} answer
 * @param {() => void} undo
 * @returns {HTMLElement | null}
 */
export function lastAnswer(index, { number, label, conv }, undo) {
  const row = index.rows[number];
  if (!row) return null;
  const agrees = label.passed !== null && label.passed === (row.verdict === "pass");
  const box = el(
    "section",
    { class: "last", "aria-label": "Last answer" },
    el(
      "p",
      { role: "status" },
      "You said ",
      labelMark(label.passed),
      agrees ? ", as the judge does" : "; the judge says ",
      agrees ? null : verdictMark(row.verdict, row.shown),
      ". ",
      el("a", { href: rowAddress(index, row) }, "See the row"),
      " ",
      keyButton("Undo", "z", undo),
    ),
  );
  const reason = conv?.scores.find((score) => score.metric === row.metric)?.justification;
  if (conv && reason) {
    const links = messageLinks(reason, conv.messages.length, (message) => rowAddress(index, row, String(message)));
    box.append(el("div", { class: "reason" }, el("span", { class: "muted" }, "The judge's reason: "), textBlock(reason, links)));
  }
  return box;
}

/**
 * Benchmarks whose rows people could label here if the page held all of them.
 * @param {Index} index
 * @returns {string[]}
 */
export function thinnedBenchmarks(index) {
  if (index.rows.length >= index.total_rows) return [];
  return [...new Set(index.runs.filter((run) => run.kind === "benchmark").map((run) => run.benchmark))];
}

/**
 * Why a page has no rows to label.
 * @param {Index} index
 * @returns {HTMLElement[]}
 */
export function whyNoLabels(index) {
  const benchmarks = thinnedBenchmarks(index);
  if (benchmarks.length === 0) return [el("p", {}, "This page has no rows to label: it needs rows with a verdict and their conversations."), waysOut()];
  const rows = index.rows.length === 0 ? "none of the rows" : `${count(index.rows.length)} of ${counted(index.total_rows, "row")}, ${index.chosen ? `those with ${visible(index.chosen)}` : "chosen because there is something to look at"}`;
  const commands = benchmarks.flatMap((name) => ["view", "label"].map((command) => `${index.program} ${command} ${name}`));
  return [
    el("p", {}, `This page holds ${rows}. Labels say how good the judge is only where their rows are drawn at random among all: label with one of these commands, or in a report with `, el("code", {}, "--rows all"), "."),
    el("ul", {}, commands.map((command) => el("li", {}, el("code", {}, visible(command))))),
    waysOut(),
  ];
}
