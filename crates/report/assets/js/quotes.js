// The passages that a judge quotes, located in the transcript.

/** @import {Score, Message, Quote} from "./types.js" */
/** @import {Mark} from "./text.js" */

/**
 * A quote, and the passage where it was found.
 * @typedef {object} FoundQuote
 * @property {Quote} quote
 * @property {string} judge
 * @property {boolean} found Whether the message contains the quote.
 * @property {string | null} id The id of the marked passage; null if none is marked.
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
 * All quotes of a score and of each of its judges, with their marks in the messages.
 * @param {Score | undefined} score
 * @param {Message[]} messages
 * @returns {{quotes: FoundQuote[], marks: Map<number, Mark[]>}}
 */
export function markQuotes(score, messages) {
  /** @type {Map<number, Mark[]>} */
  const marks = new Map();
  /** @type {FoundQuote[]} */
  const quotes = [];
  const judges = score?.judges ?? [];
  const all = [
    ...(score?.quotes ?? []).map((quote) => ({ quote, judge: "" })),
    ...judges.flatMap((judge) => (judge.quotes ?? []).map((quote) => ({ quote, judge: judge.judge }))),
  ];
  for (const { quote, judge } of all) {
    const text = messages[quote.message]?.text ?? "";
    const places = findQuote(text, quote.text);
    const id = `quote-${quotes.length + 1}`;
    quotes.push({ quote, judge, found: places.length > 0, id: places.length ? id : null });
    const there = marks.get(quote.message) ?? [];
    for (const [start, end] of places) there.push({ start, end, id, title: judge ? `quoted by ${judge}` : "quoted by the judge" });
    marks.set(quote.message, there);
  }
  for (const [message, list] of marks) {
    list.sort((a, b) => a.start - b.start || b.end - a.end);
    // If two quotes overlap, the first one marks the shared passage, and the other one only its rest.
    /** @type {Mark[]} */
    const apart = [];
    const same = new Map();
    for (const mark of list) {
      const last = apart.at(-1);
      if (last && mark.end <= last.end) same.set(mark.id, last.id);
      else apart.push({ ...mark, start: Math.max(mark.start, last?.end ?? 0) });
    }
    marks.set(message, apart);
    for (const quote of quotes) if (quote.quote.message === message && quote.id && same.has(quote.id)) quote.id = same.get(quote.id);
  }
  return { quotes, marks };
}
