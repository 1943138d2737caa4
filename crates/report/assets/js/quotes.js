// The passages that a judge quotes, found again in the transcript.

/** @import {Score, Message, Quote} from "./types.js" */
/** @import {Mark} from "./text.js" */

/**
 * A quote, and where it was found.
 * @typedef {object} FoundQuote
 * @property {Quote} quote
 * @property {string} judge
 * @property {boolean} found Whether the message has it.
 * @property {string | null} id Of the marked passage; null where none is marked.
 */

// Shorter parts of a quote with gaps say too little to be looked for.
const SHORTEST_PART = 8;

/**
 * A text without what quotes are careless about (case, spaces, kinds of quotation marks, emphasis), and for each character its place.
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
    // A character whose small form is longer keeps one place.
    plain += even[0] ?? character;
    places.push(place);
  }
  return { plain, places };
}

/**
 * Where a text holds a quote, as pairs of start and end; parts around `...` one by one. Empty where it does not.
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
  // A short quote that was cut at an end is one part beside nothing.
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
 * All quotes of a score, of each judge, and the marks in the messages.
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
    // Two quotes of one passage: the first marks it, the other what it holds beyond that.
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
