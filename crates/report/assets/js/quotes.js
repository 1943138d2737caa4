// The passages that a judge quotes, located in the transcript.

/** @import {Score, Message, Quote, Verdict} from "./types.js" */
/** @import {Mark} from "./text.js" */

/**
 * A quote, and the passage where it was found. Judges that quote the same words share it.
 * @typedef {object} FoundQuote
 * @property {Quote} quote
 * @property {string[]} judges The judges that quote it; empty where there is one judge alone.
 * @property {boolean} found Whether the message contains the quote.
 * @property {string | null} id The id of the marked passage; null if none is marked.
 * @property {string} letter The letter of the marked passage; empty if none is marked.
 * @property {boolean} dissent Whether only judges who dissent quote it.
 */

// In a quote with gaps, shorter parts than this are too unspecific to search for.
const SHORTEST_PART = 8;

/**
 * A text without the details that judges often change in quotes (case, white space, dashes, kinds of quotation marks, emphasis), and for
 * each character its position in the original text.
 * @param {string} text
 * @returns {{plain: string, places: number[]}}
 */
function plainText(text) {
  let plain = "";
  const places = [];
  let space = true;
  for (let place = 0; place < text.length; place++) {
    const character = text[place] ?? "";
    if (/\s/.test(character)) {
      if (!space) {
        plain += " ";
        places.push(place);
      }
      space = true;
      continue;
    }
    if (/[*_`]/.test(character)) continue;
    space = false;
    const even = character.replace(/[‘’‚‛′]/, "'").replace(/[“”„«»″]/, '"').replace(/[‐‑‒–—]/, "-").toLowerCase();
    // A character whose lower-case form is longer is kept as one character.
    plain += even[0] ?? character;
    places.push(place);
  }
  return { plain, places };
}

/**
 * The passages of a text that match a quote, as pairs of start and end. The parts around `...` are separate passages. Empty if the quote
 * was not found.
 * @param {string} text
 * @param {string} quote
 * @returns {[number, number][]}
 */
export function findQuote(text, quote) {
  const exact = text.indexOf(quote);
  if (exact >= 0 && quote) return [[exact, exact + quote.length]];
  const { plain, places } = plainText(text);
  const parts = quote.split(/\s*(?:\.\.\.|…|\[…\])\s*/).map((part) => plainText(part).plain.trim());
  const long = parts.filter((part) => part.length >= SHORTEST_PART);
  // A short quote that was cut at one end has one part and one empty part.
  const wanted = parts.length > 1 && long.length > 0 ? long : parts.filter(Boolean);
  /** @type {[number, number][]} */
  const found = [];
  let from = 0;
  for (const part of wanted) {
    const at = part ? plain.indexOf(part, from) : -1;
    if (at < 0) return [];
    found.push([places[at] ?? 0, (places[at + part.length - 1] ?? 0) + 1]);
    from = at + part.length;
  }
  return found;
}

/**
 * Whether a judge dissents from a panel's verdict.
 * @param {Score} score
 * @param {{verdict: Verdict}} judge
 * @returns {boolean}
 */
export function dissents(score, judge) {
  return score.verdict !== "none" && judge.verdict !== "none" && judge.verdict !== score.verdict;
}

/**
 * The quotes of a score, those of judges who dissent first, each once.
 * @param {Score | undefined} score
 * @returns {FoundQuote[]}
 */
function quotesOf(score) {
  /** @type {Map<string, FoundQuote>} */
  const quotes = new Map();
  const judges = score?.judges ?? [];
  const ordered = score ? [...judges].sort((a, b) => Number(dissents(score, b)) - Number(dissents(score, a))) : [];
  const all = ordered.flatMap((judge) => (judge.quotes ?? []).map((quote) => ({ quote, judge })));
  const alone = judges.length === 0 ? (score?.quotes ?? []).map((quote) => ({ quote, judge: undefined })) : [];
  for (const { quote, judge } of [...alone, ...all]) {
    const key = `${quote.message} ${plainText(quote.text).plain.trim()}`;
    const known = quotes.get(key) ?? { quote, judges: [], found: false, id: null, letter: "", dissent: true };
    if (judge && !known.judges.includes(judge.judge)) known.judges.push(judge.judge);
    known.dissent &&= judge !== undefined && score !== undefined && dissents(score, judge);
    quotes.set(key, known);
  }
  return [...quotes.values()];
}

/**
 * A passage without the marks of emphasis at its ends.
 * @param {string} text
 * @param {[number, number]} passage
 * @returns {[number, number]}
 */
function bare(text, [start, end]) {
  while (start < end && /[*_`~]/.test(text[start] ?? "")) start += 1;
  while (end > start && /[*_`~]/.test(text[end - 1] ?? "")) end -= 1;
  return [start, end];
}

/**
 * Finds the quotes of a score in the messages.
 * @param {Score | undefined} score
 * @param {Message[]} messages
 * @returns {{quotes: FoundQuote[], marks: Map<number, Mark[]>}}
 */
export function markQuotes(score, messages) {
  /** @type {Map<number, Mark[]>} */
  const marks = new Map();
  const quotes = quotesOf(score);
  for (const [place, found] of quotes.entries()) {
    const { quote, judges, dissent } = found;
    const text = messages[quote.message]?.text ?? "";
    const places = findQuote(text, quote.text);
    found.found = places.length > 0;
    if (!found.found) continue;
    found.id = `quote-${place + 1}`;
    const there = marks.get(quote.message) ?? [];
    const title = `quoted by ${judges.length ? judges.join(", ") : "the judge"}`;
    for (const passage of places) {
      const [start, end] = bare(text, passage);
      there.push({ start, end, id: found.id, title, dissent });
    }
    marks.set(quote.message, there);
  }
  for (const [message, list] of marks) marks.set(message, apart(list, quotes, message));
  letter(quotes, marks);
  return { quotes, marks };
}

/**
 * The marks of a message in their order. If two quotes overlap, the first one marks the shared passage, and the other one only its rest.
 * @param {Mark[]} list
 * @param {FoundQuote[]} quotes
 * @param {number} message
 * @returns {Mark[]}
 */
function apart(list, quotes, message) {
  list.sort((a, b) => a.start - b.start || b.end - a.end);
  /** @type {Mark[]} */
  const kept = [];
  /** @type {Map<string, string>} */
  const same = new Map();
  for (const mark of list) {
    const last = kept.at(-1);
    if (last && mark.end <= last.end) {
      same.set(mark.id, last.id);
      last.dissent = last.dissent === true && mark.dissent === true;
    } else {
      kept.push({ ...mark, start: Math.max(mark.start, last?.end ?? 0) });
    }
  }
  for (const quote of quotes) if (quote.quote.message === message && quote.id) quote.id = same.get(quote.id) ?? quote.id;
  return kept;
}

/**
 * Gives each marked passage a letter, in the order of the quotes.
 * @param {FoundQuote[]} quotes
 * @param {Map<number, Mark[]>} marks
 */
function letter(quotes, marks) {
  /** @type {Map<string, string>} */
  const letters = new Map();
  for (const quote of quotes) {
    if (!quote.id) continue;
    const given = letters.get(quote.id) ?? (letters.size < 26 ? String.fromCharCode(97 + letters.size) : String(letters.size + 1));
    letters.set(quote.id, given);
    quote.letter = given;
  }
  for (const list of marks.values()) for (const mark of list) mark.letter = letters.get(mark.id) ?? "";
}
