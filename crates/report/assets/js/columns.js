// The columns of the table of rows.
import { el } from "./dom.js";
import { rowAddress } from "./router.js";
import { count, textNodes, visible } from "./text.js";
import { differs, labelMark, metricMark, metricText, titleWords, troubles, turnWords, variantWords, verdictMark } from "./words.js";

/** @import {Index, Metric, Row} from "./types.js" */
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
  set("scenario", ofRows((row) => row.scenario));
  set("variant", ofRows((row) => variantWords(row.variant)));
  set("troubles", ofRows((row) => troubles(row).join("    ")));
  set("labels", ofRows((row) => "fail ≠ ".repeat(row.labels?.length ?? 0)));
}

/**
 * The columns to show: columns without any content are left out.
 * @param {Index} index
 * @returns {Column[]}
 */
export function rowColumns(index) {
  const titles = titleWords(index);
  const several = { models: index.runs.length > 1, metrics: index.metrics.length > 1 };
  /** @param {number} number @returns {Row} */
  const at = (number) => /** @type {Row} */ (index.rows[number]);
  /** @param {(row: Row) => boolean} test */
  const some = (test) => index.rows.some(test);
  /** @param {Row} row */
  const model = (row) => visible(index.runs[row.run]?.id ?? "");
  /** @param {Row} row */
  const metric = (row) => /** @type {Metric} */ (index.metrics[row.metric]);
  /** @type {(Column | false)[]} */
  const columns = [
    { id: "verdict", title: "Verdict", cell: (number) => [verdictMark(at(number).verdict, at(number).shown)] },
    several.models && { id: "model", title: "Model", cell: (number) => [model(at(number))] },
    several.metrics && { id: "metric", title: titles.metric, cell: (number) => [metricMark(index, metric(at(number)))] },
    {
      id: "scenario",
      title: titles.scenario,
      cell: (number) => {
        const row = at(number);
        const below = [several.models && model(row), several.metrics && metricText(index, metric(row))].filter(Boolean).join(" · ");
        const trouble = troubles(row).join(", ");
        const first = trouble ? el("span", { class: "below-trouble" }, visible(trouble), " · ") : null;
        return [el("a", { href: rowAddress(index, row), dir: "auto" }, visible(row.scenario)), el("span", { class: "below", title: below }, first, below)];
      },
    },
    some((row) => row.variant !== undefined) && { id: "variant", title: "Variant", cell: (number) => [visible(variantWords(at(number).variant))] },
    some((row) => row.sample > 0) && { id: "sample", title: "Sample", cell: (number) => [count(at(number).sample)] },
    {
      id: "turns",
      title: "Turns",
      cell: (number) => {
        const { turns, planned, why } = turnWords(index, at(number));
        return [el("span", { title: why || null }, turns, planned && el("span", { class: "muted" }, planned))];
      },
    },
    some((row) => troubles(row).length > 0) && {
      id: "troubles",
      title: "Problem",
      cell: (number) => troubles(at(number)).flatMap((text) => [el("span", { class: "trouble" }, visible(text)), " "]),
    },
    some((row) => (row.labels?.length ?? 0) > 0) && {
      id: "labels",
      title: "Labels",
      cell: (number) =>
        (at(number).labels ?? []).flatMap((label) => [
          labelMark(label.passed),
          differs(at(number), label) ? el("strong", { title: "differs from the judge" }, " ≠ ") : " ",
        ]),
    },
    { id: "preview", title: "Text", cell: (number) => [el("span", { dir: "auto" }, textNodes(at(number).preview))] },
  ];
  return columns.filter((column) => column !== false);
}
