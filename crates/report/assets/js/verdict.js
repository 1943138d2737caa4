// The verdicts of judges and people on a conversation, with reasons, quotes and realism.
import { button, el, folded } from "./dom.js";
import { proseBlock } from "./prose.js";
import { markQuotes } from "./quotes.js";
import { agreement, opinions, sentencesOf } from "./reasons.js";
import { messageLinks } from "./references.js";
import { counted, textBlock, textNodes, visible } from "./text.js";
import { callWords } from "./transcript.js";
import { differs, labelMark, metricText, realismWords, reasonWords, verdictMark } from "./words.js";

/** @import {Conv, Index, Metric, Realism, RealismJudge, Row, Score} from "./types.js" */
/** @import {FoundQuote} from "./quotes.js" */
/** @import {Opinion} from "./reasons.js" */

// Examples with fewer characters than this in total are not folded.
const SHORT_EXAMPLES = 400;
// A reason with more characters than this, about eight lines, is folded.
const LONG_REASON = 480;
// Of a definition with more characters than this, only the first sentence is shown at once.
const LONG_DEFINITION = 240;
// More judges than this are counted and not named.
const MANY_JUDGES = 5;

/**
 * The conversation that judges' words refer to.
 * @typedef {object} Judged
 * @property {Index} index
 * @property {Conv} conv
 * @property {(number: number) => string} address Returns the address of a message, by the number that judges use.
 */

/**
 * A judge's reason, with links to the messages that it names. A long one is folded.
 * @param {Judged} judged
 * @param {string} text
 * @returns {HTMLElement}
 */
function reasonBlock({ conv, address }, text) {
  const block = proseBlock(text, messageLinks(text, conv.messages.length, address));
  if (text.length > LONG_REASON) {
    block.classList.add("long");
    const all = button("All of the reason", () => {
      block.classList.remove("long");
      all.remove();
    });
    block.addEventListener("probity-print", () => all.click());
    return el("div", {}, block, all);
  }
  return block;
}

/**
 * Quotes as links to the passages, each with its letter.
 * @param {Judged} judged
 * @param {FoundQuote[]} quotes
 * @param {(quote: FoundQuote) => string} [who] Who quotes it, in words.
 * @returns {HTMLElement | null}
 */
function quoteList({ conv, address }, quotes, who = () => "") {
  if (quotes.length === 0) return null;
  const items = quotes.map((one) => {
    const { quote, found, id, letter } = one;
    const text = textNodes(quote.text.length > 300 ? `${quote.text.slice(0, 300)}…` : quote.text);
    const number = quote.message + 1;
    const shown = conv.messages[quote.message] ? el("a", { class: "number", href: address(number), title: `message ${number}` }, `[${number}]`) : el("span", { class: "number" }, `[${number}]`);
    const names = who(one);
    const after = [names && el("small", { class: "muted" }, ` ${visible(names)}`), found ? null : el("small", { class: "muted" }, " (not found in the message)")];
    if (!id) return el("li", {}, shown, " ", el("q", { dir: "auto" }, text), after);
    const link = button("", () => {
      const mark = document.getElementById(id);
      mark?.scrollIntoView({ block: "center" });
      mark?.focus({ preventScroll: true });
    }, { class: "quote", dir: "auto" });
    link.append(...text);
    return el("li", {}, el("b", { class: "letter" }, letter), " ", shown, " ", link, after);
  });
  return el("ul", { class: "quotes", "aria-label": "Quoted from the transcript" }, items);
}

/**
 * The names of judges in a list, without a wall of them.
 * @param {string[]} names
 * @returns {string}
 */
function listed(names) {
  return names.length > MANY_JUDGES ? `${counted(names.length, "judge")}` : names.join(", ");
}

/**
 * One opinion of a panel: who, what, why, and the passages.
 * @param {Judged} judged
 * @param {Opinion} opinion
 * @param {FoundQuote[]} quotes The quotes that are not listed yet.
 * @returns {HTMLElement}
 */
function opinionPart(judged, opinion, quotes) {
  const { judges, adds } = opinion;
  const mine = quotes.filter((quote) => quote.judges.some((judge) => judges.includes(judge)));
  /** @param {FoundQuote} quote */
  const who = (quote) => {
    const isShared = quote.judges.length === judges.length && judges.every((judge) => quote.judges.includes(judge));
    return !isShared ? listed(quote.judges) : judges.length === 1 ? "" : judges.length === 2 ? "both" : "all";
  };
  const words = opinion.dissent ? `${judges.length === 1 ? " dissents" : " dissent"}: ` : ": ";
  const part = el("section", { class: opinion.dissent ? "judge dissents" : "judge" }, el("h4", {}, el("span", { dir: "auto", title: judges.join(", ") }, visible(listed(judges))), words, verdictMark(opinion.verdict, opinion.shown)), reasonBlock(judged, opinion.reason));
  for (const { judge, text } of adds) part.append(el("div", { class: "adds" }, el("span", { class: "muted", dir: "auto" }, `${visible(judge)} adds:`), " ", reasonBlock(judged, text)));
  const list = quoteList(judged, mine, who);
  if (list) part.append(list);
  return part;
}

/**
 * The reasons of a panel, the dissent first. Of a large panel, further reasons of the majority are folded.
 * @param {Judged} judged
 * @param {Score} score
 * @param {FoundQuote[]} quotes
 * @returns {HTMLElement[]}
 */
function panelParts(judged, score, quotes) {
  const listedNow = new Set();
  /** @param {Opinion} opinion */
  const part = (opinion) => {
    const made = opinionPart(judged, opinion, quotes.filter((quote) => !listedNow.has(quote)));
    for (const quote of quotes) if (quote.judges.some((judge) => opinion.judges.includes(judge))) listedNow.add(quote);
    return made;
  };
  const all = opinions(score);
  if ((score.judges ?? []).length <= MANY_JUDGES) return all.map(part);
  const rest = all.filter((opinion) => !opinion.dissent).sort((a, b) => b.reason.length - a.reason.length);
  const shown = [...all.filter((opinion) => opinion.dissent), ...rest.slice(0, 1)].map(part);
  const more = rest.slice(1).flatMap((opinion) => opinion.judges).length;
  if (more > 0) shown.push(folded(`${counted(more, "more judge")}`, () => el("div", {}, rest.slice(1).map(part))));
  return shown;
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
  if (metric.check) parts.append(el("p", { class: "muted" }, `A test decides it, and no judge: it is present where ${visible(metric.check)}.`));
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
 * The metric in words: its name, what a pass or a fail means, its definition.
 * @param {Index} index
 * @param {Metric} metric
 * @returns {HTMLElement}
 */
export function metricWords(index, metric) {
  const isSafety = index.runs.some((run) => run.benchmark === metric.benchmark && run.kind === "safety");
  const definitionText = shortDefinition(metric);
  // "The assistant abandons …" is the rest of a sentence; anything else is a sentence of its own.
  const isClause = /^(The|An?|It|After|Under|When|In)\s/.test(definitionText);
  const rule = metric.type === "negative" ? "avoids bad: fails if" : "promotes good: passes if";
  const words = isSafety ? "" : isClause ? rule : `${rule} the conversation shows this:`;
  const text = isClause && !isSafety ? `${definitionText[0]?.toLowerCase() ?? ""}${definitionText.slice(1)}` : definitionText;
  const line = el("div", { class: "metric-words" }, el("b", { dir: "auto" }, visible(metric.name)), " ", el("span", { class: "muted" }, words), " ", el("span", { dir: "auto" }, textNodes(text)));
  return line;
}

/**
 * The definition, or the first sentence of a long one.
 * @param {Metric} metric
 * @returns {string}
 */
function shortDefinition(metric) {
  const whole = metric.definition.trim();
  return whole.length > LONG_DEFINITION ? (sentencesOf(whole)[0] ?? "") : whole;
}

/**
 * What stands behind the metric's line: a long definition, the answers of judges, examples.
 * @param {Metric} metric
 * @returns {HTMLElement | null}
 */
function metricMore(metric) {
  const isLong = metric.definition.trim().length > LONG_DEFINITION;
  const examples = (metric.examples ?? []).length + (metric.counterexamples ?? []).length;
  if (!isLong && !metric.answers && !metric.check && examples === 0) return null;
  return folded(isLong ? "Definition and examples" : metric.check ? "Test" : "Examples", () => definition(isLong ? metric : { ...metric, definition: "" }), { class: "metric-more" });
}

/**
 * One verdict: how it was decided, on what, why, and by which words.
 * @param {Judged} judged
 * @param {Score} score
 * @param {FoundQuote[]} quotes
 * @returns {(HTMLElement | null)[]}
 */
function scoreParts(judged, score, quotes) {
  const metric = judged.index.metrics[score.metric];
  const agreed = agreement(score);
  const why = score.reason ? reasonWords(score.reason) : agreed;
  /** @type {(HTMLElement | null)[]} */
  const parts = [el("h3", { class: "verdict" }, verdictMark(score.verdict, score.shown), why && [" ", el("small", {}, why)])];
  if (metric) parts.push(metricWords(judged.index, metric), metricMore(metric));
  if (score.error) parts.push(el("div", { class: "note error" }, textBlock(score.error)));
  // The reason of a panel is that of its judges, one after the other; and the reason of a row with an error can repeat the error.
  const isPanel = (score.judges ?? []).length > 0;
  const isOwn = isPanel && score.justification !== "" && (score.judges ?? []).some((judge) => !score.justification.includes(judge.justification));
  if (isOwn) parts.push(el("section", { class: "judge reason" }, reasonBlock(judged, score.justification)));
  if (isPanel) parts.push(...panelParts(judged, score, quotes));
  else if (score.justification && score.justification !== score.error) parts.push(el("section", { class: "judge" }, reasonBlock(judged, score.justification), quoteList(judged, quotes)));
  else parts.push(quoteList(judged, quotes));
  return parts;
}

/**
 * @param {Judged} judged
 * @param {RealismJudge} judge
 * @param {boolean} alone
 * @returns {HTMLElement}
 */
function realismJudge(judged, judge, alone) {
  const quotes = (judge.quotes ?? []).map((quote) => ({ quote, judges: [], found: true, id: null, letter: "", dissent: false }));
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
 * @param {HTMLElement | null} own The buttons of the reader's own label.
 * @returns {HTMLElement}
 */
export function verdicts(judged, row, score, quotes, own) {
  const { index, conv } = judged;
  const section = el("section", { class: "scores", "aria-label": "Verdict" });
  section.classList.toggle("failed", row.verdict === "fail");
  if (score) section.append(...scoreParts(judged, score, quotes).filter((part) => part !== null));
  else section.append(el("h3", { class: "verdict" }, verdictMark(row.verdict), " ", el("small", {}, row.verdict === "pending" ? "the run has not judged it yet" : "no score")));
  const people = el("section", { class: "people" }, el("h4", {}, "People", (row.labels ?? []).length === 0 && el("span", { class: "muted" }, " no label yet")));
  section.append(people);
  for (const label of row.labels ?? []) {
    people.append(
      el("p", { class: "label" }, el("b", { dir: "auto" }, visible(label.labeller)), " says ", labelMark(label.passed), differs(row, label) ? " ≠ judge" : "", label.note ? ": " : "", label.note ? el("span", { dir: "auto" }, visible(label.note)) : null),
    );
  }
  if (own) people.append(own);
  for (const other of conv.scores.filter((one) => one !== score)) {
    const metric = index.metrics[other.metric];
    const name = metric ? metricText(index, metric) : "another metric";
    const verdict = other.verdict === "none" ? "no verdict" : other.verdict;
    // Only the passages of the shown row are marked in the transcript.
    const found = () => markQuotes(other, conv.messages).quotes.map((quote) => ({ ...quote, id: null }));
    section.append(folded(`${name}: ${verdict}`, () => el("div", {}, scoreParts(judged, other, found()))));
  }
  if (conv.realism) section.append(realismPart(judged, conv.realism));
  const call = score ? callWords(score) : "";
  if (call) section.append(el("p", { class: "muted" }, el("small", {}, call)));
  return section;
}
