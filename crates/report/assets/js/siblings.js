// The conversations of one scenario: other models, samples and variants.
import { el, folded } from "./dom.js";
import { rowAddress, writeRoute } from "./router.js";
import { count, visible } from "./text.js";
import { variantWords, verdictMark } from "./words.js";

/** @import {ConversationRoute, Index, Row} from "./types.js" */

// The most listed conversations of the same scenario.
const MOST_SIBLINGS = 200;

/**
 * The name of a conversation among others of its scenario: model, variant, sample.
 * @param {Index} index
 * @param {Row} row
 * @returns {string}
 */
export function rowName(index, row) {
  return [index.runs[row.run]?.id ?? "", variantWords(row.variant), `sample ${row.sample}`].filter(Boolean).map(visible).join(", ");
}

/**
 * The list of the same scenario's conversations with other models, samples and variants.
 * @param {Index} index
 * @param {ConversationRoute} route
 * @param {Row} row
 * @returns {HTMLElement}
 */
export function siblings(index, route, row) {
  const section = el("section", { class: "siblings", "aria-label": "The same scenario" });
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
    const compare = el("a", { href: writeRoute({ ...route, with: other.conv_id, withRun: run, message: "" }), "aria-label": `compare with ${rowName(index, other)}` }, "compare");
    const last = here ? "this one" : compared ? "compared" : other.chunk === undefined || row.chunk === undefined ? "" : compare;
    body.append(
      el("tr", { class: here ? "selected" : null }, el("td", {}, link), variants && el("td", {}, visible(variantWords(other.variant))), el("td", { class: "num" }, count(other.sample)), el("td", {}, verdictMark(other.verdict, other.shown)), el("td", {}, last)),
    );
  }
  const titles = ["Model", ...(variants ? ["Variant"] : []), "Sample", "Verdict", ""].map((title) =>
    title ? el("th", { scope: "col", class: title === "Sample" ? "num" : null }, title) : el("td"),
  );
  const table = () => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Its conversations" }, el("table", { class: "data" }, el("thead", {}, el("tr", {}, titles)), body));
  const box = folded(`The same scenario (${count(list.length)} conversations)`, table, { open: true });
  // On a narrow page, the box is between the verdict and the transcript, so it starts closed.
  box.open = !matchMedia("(max-width: 64rem)").matches;
  section.append(box);
  if (list.length > MOST_SIBLINGS) section.append(el("p", { class: "muted" }, `${count(list.length - MOST_SIBLINGS)} more are not listed.`));
  return section;
}
