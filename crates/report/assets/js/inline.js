// The marked-up words of one paragraph of a model's text: code, bold, italics, links. Nothing is read as HTML, and no link is a link.
import { el } from "./dom.js";

/** @typedef {(parent: HTMLElement, from: number, to: number) => void} Write Writes the characters of a text into an element. */

// Emphasis inside emphasis is followed this deep.
const DEEPEST_EMPHASIS = 6;
// A backslash before one of these stands for the character itself. Brackets are not among them: models write formulas as `\( x \)`.
const ESCAPED = /[\\`*_{}#+\-.!|~>]/;
const WORD_CHARACTER = /[\p{L}\p{N}]/u;
// `[label](address "title")`, or an image. The limits keep a hostile text from costing more than its length.
const LINK = /!?\[([^\]\n]{1,400})\](\((?:[^()\s]|\([^()\s]{0,200}\)){1,1000})(?:[ \t]+"[^"\n]{0,200}")?\)/y;

/** What stands around emphasised words, the longest first. @type {[string, "strong" | "s" | "em"][]} */
const EMPHASIS = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "s"],
  ["*", "em"],
  ["_", "em"],
];

/**
 * The code spans of a text: for the place of the opening backticks, where the code starts, where it ends, and where the span ends.
 * @param {string} text
 * @returns {Map<number, [number, number, number]>}
 */
function codeSpans(text) {
  const runs = [...text.matchAll(/`+/g)].map((run) => ({ at: run.index, length: run[0].length }));
  /** For each length of a run, the places of its runs, the first one last. @type {Map<number, number[]>} */
  const later = new Map();
  for (let place = runs.length - 1; place >= 0; place--) {
    const length = runs[place]?.length ?? 0;
    const same = later.get(length);
    if (same) same.push(place);
    else later.set(length, [place]);
  }
  /** @type {Map<number, [number, number, number]>} */
  const spans = new Map();
  let next = 0;
  for (const [place, run] of runs.entries()) {
    const same = later.get(run.length) ?? [];
    while (same.length > 0 && (same.at(-1) ?? 0) <= place) same.pop();
    const close = same.at(-1);
    const end = close === undefined ? undefined : runs[close];
    if (place < next || text[run.at - 1] === "\\" || close === undefined || !end) continue;
    spans.set(run.at, [run.at + run.length, end.at, end.at + end.length]);
    next = close + 1;
  }
  return spans;
}

/** The words of one paragraph. */
class Inline {
  /**
   * @param {string} text
   * @param {Write} put
   */
  constructor(text, put) {
    this.text = text;
    this.put = put;
    this.code = codeSpans(text);
  }

  /**
   * Writes a part of the text.
   * @param {HTMLElement} parent
   * @param {number} from
   * @param {number} to
   * @param {number} depth
   */
  render(parent, from, to, depth) {
    /** The marks that nothing closes from here on. @type {Set<string>} */
    const open = new Set();
    let plain = from;
    let at = from;
    /** @param {number} next Where what follows an element starts. */
    const past = (next) => {
      at = next;
      plain = next;
    };
    const flush = () => {
      if (at > plain) this.put(parent, plain, at);
    };
    while (at < to) {
      const character = this.text[at] ?? "";
      if (character === "\\" && at + 1 < to && ESCAPED.test(this.text[at + 1] ?? "")) {
        flush();
        plain = at + 1;
        at += 2;
        continue;
      }
      const code = this.code.get(at);
      if (code && code[2] <= to) {
        flush();
        const element = el("code");
        this.put(element, code[0], code[1]);
        parent.append(element);
        past(code[2]);
        continue;
      }
      const link = character === "[" || character === "!" ? this.link(at, to) : null;
      if (link) {
        flush();
        parent.append(...this.linkWords(link, depth));
        past(link.end);
        continue;
      }
      const emphasis = depth < DEEPEST_EMPHASIS && "*_~".includes(character) ? this.emphasis(at, to, open) : null;
      if (emphasis) {
        flush();
        const element = el(emphasis.tag);
        this.render(element, emphasis.start, emphasis.close, depth + 1);
        parent.append(element);
        past(emphasis.end);
        continue;
      }
      at += 1;
    }
    flush();
  }

  /**
   * A link at a place, or null.
   * @param {number} at
   * @param {number} to
   */
  link(at, to) {
    LINK.lastIndex = at;
    const found = LINK.exec(this.text);
    if (!found || LINK.lastIndex > to) return null;
    const [, label = "", address = ""] = found;
    const start = at + (this.text[at] === "!" ? 2 : 1);
    const bracket = start + label.length + 1;
    return { start, close: start + label.length, bracket, same: address.slice(1) === label, end: LINK.lastIndex };
  }

  /**
   * The words of a link, and its address as text.
   * @param {NonNullable<ReturnType<Inline["link"]>>} link
   * @param {number} depth
   * @returns {(Node | string)[]}
   */
  linkWords(link, depth) {
    const words = el("span", { class: "link-words" });
    this.render(words, link.start, link.close, depth + 1);
    if (link.same) return [words];
    const address = el("span", { class: "link-address" });
    this.put(address, link.bracket, link.end);
    return [words, " ", address];
  }

  /**
   * Emphasised words at a place, or null.
   * @param {number} at
   * @param {number} to
   * @param {Set<string>} open
   */
  emphasis(at, to, open) {
    const { text } = this;
    const before = text[at - 1] ?? " ";
    for (const [mark, tag] of EMPHASIS) {
      if (!text.startsWith(mark, at)) continue;
      const start = at + mark.length;
      const isInWord = mark !== "**" && mark !== "~~" && WORD_CHARACTER.test(before);
      if (open.has(mark) || start >= to || /\s/.test(text[start] ?? "") || isInWord) return null;
      const close = this.closing(mark, start, to);
      if (close >= 0) return { tag, start, close, end: close + mark.length };
      open.add(mark);
      return null;
    }
    return null;
  }

  /**
   * Where emphasised words end, or -1.
   * @param {string} mark
   * @param {number} from
   * @param {number} to
   * @returns {number}
   */
  closing(mark, from, to) {
    const { text } = this;
    const character = mark[0] ?? "";
    let at = from;
    while (at < to) {
      const code = this.code.get(at);
      if (code || text[at] === "\\") {
        at = code ? code[2] : at + 2;
        continue;
      }
      if (text[at] !== character) {
        at += 1;
        continue;
      }
      let end = at;
      while (end < to && text[end] === character) end += 1;
      const isRun = end - at === mark.length || end - at === 3;
      const isInWord = mark !== "**" && mark !== "~~" && WORD_CHARACTER.test(text[end] ?? " ");
      if (isRun && at > from && !/\s/.test(text[at - 1] ?? " ") && !isInWord) return end - mark.length;
      at = end;
    }
    return -1;
  }
}

/**
 * Writes a paragraph's text with its emphasis, code and links.
 * @param {HTMLElement} parent
 * @param {string} text
 * @param {Write} put
 */
export function writeInline(parent, text, put) {
  new Inline(text, put).render(parent, 0, text.length, 0);
}
