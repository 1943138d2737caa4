// The verdicts of judges and people on a conversation, with reasons, quotes and realism.
import { button, el, folded } from "./dom.js";
import { markQuotes } from "./quotes.js";
import { messageLinks } from "./references.js";
import { counted, textBlock, textNodes, visible } from "./text.js";
import { callWords } from "./transcript.js";
import { differs, labelMark, metricMark, metricText, realismWords, reasonWords, verdictMark, verdictMeaning } from "./words.js";

/** @import {Conv, Index, JudgeVerdict, Metric, Realism, RealismJudge, Row, Score} from "./types.js" */
/** @import {FoundQuote} from "./quotes.js" */

// Examples with fewer characters than this in total are not folded.
const SHORT_EXAMPLES = 400;

/**
 * The conversation that judges' words refer to.
 * @typedef {object} Judged
 * @property {Index} index
 * @property {Conv} conv
 * @property {(number: number) => string} address Returns the address of a message, by the number that judges use.
 */

/**
 * A judge's reason, with links to the messages that it names.
 * @param {Judged} judged
 * @param {string} text
 * @returns {HTMLElement}
 */
function reasonBlock({ conv, address }, text) {
  return textBlock(text, messageLinks(text, conv.messages.length, address));
}

/**
 * Quotes as links to the passages.
 * @param {Judged} judged
 * @param {FoundQuote[]} quotes
 * @returns {HTMLElement[]}
 */
function quoteList({ conv, address }, quotes) {
  if (quotes.length === 0) return [];
  const items = quotes.map(({ quote, found, id }) => {
    const text = textNodes(quote.text.length > 300 ? `${quote.text.slice(0, 300)}…` : quote.text);
    const number = quote.message + 1;
    const shown = conv.messages[quote.message] ? el("a", { class: "number", href: address(number), title: `message ${number}` }, `[${number}]`) : el("span", { class: "number" }, `[${number}]`);
    if (!id) return el("li", {}, shown, " ", el("q", { dir: "auto" }, text), found ? null : el("small", { class: "muted" }, " (not found in the message)"));
    const link = button("", () => {
      const mark = document.getElementById(id);
      mark?.scrollIntoView({ block: "center" });
      mark?.focus({ preventScroll: true });
    }, { class: "quote", dir: "auto" });
    link.append(...text);
    return el("li", {}, shown, " ", link);
  });
  return [el("p", { class: "muted" }, "Quoted from the transcript:"), el("ul", { class: "quotes" }, items)];
}

/**
 * @param {Judged} judged
 * @param {JudgeVerdict} judge
 * @param {FoundQuote[]} quotes
 * @returns {HTMLElement}
 */
function judgePart(judged, judge, quotes) {
  return el(
    "details",
    { class: "judge", open: true },
    el("summary", {}, verdictMark(judge.verdict, judge.shown), " ", el("span", { dir: "auto" }, visible(judge.judge))),
    reasonBlock(judged, judge.justification),
    quoteList(judged, quotes),
  );
}

/**
 * The metric's definition and examples, and the answers of judges if they are not yes and no.
 * @param {Metric} metric
 * @returns {HTMLElement}
 */
export function definition(metric) {
  const parts = el("div", { class: "definition" });
  if (metric.definition) parts.append(textBlock(metric.definition));
  if (metric.answers) parts.append(el("p", { class: "muted" }, `Judges answer ${visible(metric.answers)}.`));
  appendTexts(parts, metric.examples ?? [], "example", "of the behaviour");
  appendTexts(parts, metric.counterexamples ?? [], "near miss", "that do not show it", "near misses");
  return parts;
}

/**
 * Adds a list of texts, open if it is short.
 * @param {HTMLElement} parts
 * @param {string[]} texts
 * @param {string} noun
 * @param {string} what
 * @param {string} [nouns]
 */
function appendTexts(parts, texts, noun, what, nouns) {
  if (texts.length === 0) return;
  const list = () => el("ul", { class: "examples" }, texts.map((text) => el("li", {}, textBlock(text))));
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  parts.append(folded(`${counted(texts.length, noun, nouns)} ${what}`, list, { open: length <= SHORT_EXAMPLES }));
}

/**
 * One verdict with its reason, its quotes and its judges.
 * @param {Judged} judged
 * @param {Score} score
 * @param {FoundQuote[]} quotes
 * @returns {HTMLElement[]}
 */
function scoreParts(judged, score, quotes) {
  const metric = judged.index.metrics[score.metric];
  /** @type {HTMLElement[]} */
  const parts = [el("h3", {}, metric ? metricMark(judged.index, metric) : "Score"), el("p", { class: "verdict" }, verdictMark(score.verdict, score.shown), score.reason ? `: ${reasonWords(score.reason)}` : "")];
  if (metric) {
    const means = el("p", { class: "muted" }, `Pass: ${verdictMeaning(metric).pass}.`);
    parts.push(folded("Definition", () => el("div", {}, definition(metric), means)));
  }
  // The reason of a row with an error can repeat the error.
  if (score.justification && score.justification !== score.error) parts.push(reasonBlock(judged, score.justification));
  if (score.error) parts.push(el("div", { class: "note error" }, textBlock(score.error)));
  parts.push(...quoteList(judged, quotes.filter((quote) => quote.judge === "")));
  for (const judge of score.judges ?? []) parts.push(judgePart(judged, judge, quotes.filter((quote) => quote.judge === judge.judge)));
  const call = callWords(score);
  if (call) parts.push(el("p", { class: "muted" }, el("small", {}, call)));
  return parts;
}

/**
 * @param {Judged} judged
 * @param {RealismJudge} judge
 * @param {boolean} alone
 * @returns {HTMLElement}
 */
function realismJudge(judged, judge, alone) {
  const quotes = (judge.quotes ?? []).map((quote) => ({ quote, judge: "", found: true, id: null }));
  const heading = alone ? null : el("p", {}, el("b", { dir: "auto" }, visible(judge.judge)), `: ${realismWords(judge)}`);
  return el("div", {}, heading, judge.reason ? reasonBlock(judged, judge.reason) : null, quoteList(judged, quotes));
}

/**
 * The realism of the conversation. It has no influence on verdicts, so it is folded.
 * @param {Judged} judged
 * @param {Realism} realism
 * @returns {HTMLElement}
 */
function realismPart(judged, realism) {
  const parts = () => el("div", {}, realism.judges.map((judge) => realismJudge(judged, judge, realism.judges.length === 1)));
  return folded(`Realism: ${realismWords(realism)}`, parts, { class: "realism" });
}

/**
 * The verdicts: first the full verdict of the shown row, then the others, folded.
 * @param {Judged} judged
 * @param {Row} row
 * @param {Score | undefined} score
 * @param {FoundQuote[]} quotes
 * @returns {HTMLElement}
 */
export function verdicts(judged, row, score, quotes) {
  const { index, conv } = judged;
  const section = el("section", { class: "scores", "aria-label": "Verdict" });
  if (score) section.append(...scoreParts(judged, score, quotes));
  else section.append(el("p", {}, verdictMark("none"), " no score"));
  for (const label of row.labels ?? []) {
    section.append(
      el("p", { class: "label" }, el("b", { dir: "auto" }, visible(label.labeller)), " says ", labelMark(label.passed), differs(row, label) ? " ≠ judge" : "", label.note ? ": " : "", label.note ? el("span", { dir: "auto" }, visible(label.note)) : null),
    );
  }
  for (const other of conv.scores.filter((one) => one !== score)) {
    const metric = index.metrics[other.metric];
    const name = metric ? metricText(index, metric) : "another metric";
    const verdict = other.verdict === "none" ? "no verdict" : other.verdict;
    // Only the passages of the shown row are marked in the transcript.
    const found = () => markQuotes(other, conv.messages).quotes.map((quote) => ({ ...quote, id: null }));
    section.append(folded(`${name}: ${verdict}`, () => el("div", {}, scoreParts(judged, other, found()))));
  }
  if (conv.realism) section.append(realismPart(judged, conv.realism));
  return section;
}
