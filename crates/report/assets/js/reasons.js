// The reasons of a panel's judges, each once: the dissent first, and judges with the same reason in one paragraph.
import { dissents } from "./quotes.js";

/** @import {Score, Verdict} from "./types.js" */

/**
 * Judges that decided the same, for the same reason.
 * @typedef {object} Opinion
 * @property {Verdict} verdict
 * @property {string | undefined} shown
 * @property {boolean} dissent
 * @property {string[]} judges
 * @property {string} reason The reason of the first of them.
 * @property {{judge: string, text: string}[]} adds What others say beyond it.
 * @property {Set<string>} known The sentences that are shown already.
 */

/**
 * The sentences of a text.
 * @param {string} text
 * @returns {string[]}
 */
export function sentencesOf(text) {
  return text.split(/(?<=[.!?…]["'”’)]?)\s+(?=[\p{Lu}\p{N}["'“‘(])/u).filter((sentence) => sentence.trim());
}

/**
 * A sentence as it is compared: without case, white space and punctuation.
 * @param {string} sentence
 * @returns {string}
 */
function plainSentence(sentence) {
  return sentence.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/**
 * The opinions of a panel. Two judges share one if at least half of the sentences of the later judge are in it already.
 * @param {Score} score
 * @returns {Opinion[]}
 */
export function opinions(score) {
  /** @type {Opinion[]} */
  const found = [];
  for (const judge of score.judges ?? []) {
    const said = sentencesOf(judge.justification);
    const shares = (/** @type {Opinion} */ other) => said.filter((sentence) => other.known.has(plainSentence(sentence))).length * 2 >= said.length;
    const same = found.find((other) => other.verdict === judge.verdict && other.shown === judge.shown && shares(other));
    if (!same) {
      const { verdict, shown } = judge;
      found.push({ verdict, shown, dissent: dissents(score, judge), judges: [judge.judge], reason: judge.justification, adds: [], known: new Set(said.map(plainSentence)) });
      continue;
    }
    same.judges.push(judge.judge);
    const more = said.filter((sentence) => !same.known.has(plainSentence(sentence)));
    if (more.length > 0) same.adds.push({ judge: judge.judge, text: more.join(" ") });
    for (const sentence of more) same.known.add(plainSentence(sentence));
  }
  /** @param {Opinion} one */
  const rank = (one) => (one.dissent ? 0 : one.verdict === score.verdict ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b));
}

/**
 * How many judges agree with the verdict: `2 of 3 judges`; empty without a panel.
 * @param {Score} score
 * @returns {string}
 */
export function agreement(score) {
  const judges = score.judges ?? [];
  if (judges.length === 0) return "";
  return `${judges.filter((judge) => judge.verdict === score.verdict).length} of ${judges.length} judges`;
}
