// Text from models on the page: every character is visible, and no text is markup.
import { button, el } from "./dom.js";

// Control characters except tab and line ends, marks of direction, invisible spaces, tags. Joiners are kept: emoji and scripts need them.
const CONTROL =
  // eslint-disable-next-line no-control-regex
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

// A text of more characters than this is cut, with a button for the rest.
const FOLD = 100_000;
// A long text is split into pieces of at most this length, so that the browser skips the layout of pieces that are not visible.
const PIECE = 16_000;
// With more marked characters than this in a piece, they are inserted as plain text.
const MANY = 500;

const CONTROL_NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

/**
 * The visible form of an invisible character.
 * @param {string} character
 * @returns {string}
 */
export function controlName(character) {
  const code = character.codePointAt(0) ?? 0;
  const name = CONTROL_NAMES[code];
  return name ? `[${name}]` : `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/**
 * A text in which every character can be seen, as one line of plain text.
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  return text.replace(CONTROL, controlName);
}

/**
 * The nodes of a text. Invisible characters are shown in marked spans.
 * @param {string} text
 * @returns {Node[]}
 */
export function textNodes(text) {
  const found = text.match(CONTROL);
  if (!found) return [document.createTextNode(text)];
  if (found.length > MANY) return [document.createTextNode(visible(text))];
  /** @type {Node[]} */
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(CONTROL)) {
    if (match.index > from) nodes.push(document.createTextNode(text.slice(from, match.index)));
    nodes.push(el("span", { class: "control" }, controlName(match[0])));
    from = match.index + match[0].length;
  }
  if (from < text.length) nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/**
 * A passage of a text that is marked or linked.
 * @typedef {object} Mark
 * @property {number} start
 * @property {number} end
 * @property {string} id The id of the element, to link to it.
 * @property {string} title
 * @property {string} [href] The address, if the passage is a link.
 * @property {string} [letter] The letter of a quote, shown after it.
 * @property {boolean} [dissent] Whether only a judge who dissents quotes it.
 */

/**
 * The nodes of a text from `start` to `end`, with marked passages in `<mark>`. The marks must be sorted and must not overlap.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {Mark[]} marks
 * @param {Set<string>} [used] Ids that an element has: a passage in several elements has its id once.
 * @returns {Node[]}
 */
export function markedNodes(text, start, end, marks, used = new Set()) {
  /** @type {Node[]} */
  const nodes = [];
  let from = start;
  for (const mark of marks) {
    if (mark.end <= from || mark.start >= end) continue;
    const first = Math.max(mark.start, from);
    const last = Math.min(mark.end, end);
    if (first > from) nodes.push(...textNodes(text.slice(from, first)));
    const inside = textNodes(text.slice(first, last));
    if (mark.href === undefined) {
      const letter = last === mark.end ? mark.letter : undefined;
      nodes.push(el("mark", { id: used.has(mark.id) ? null : mark.id, class: mark.dissent ? "dissent" : null, title: mark.title, tabindex: "-1", "data-letter": letter }, inside));
      used.add(mark.id);
    } else {
      nodes.push(el("a", { href: mark.href, title: mark.title }, inside));
    }
    from = last;
  }
  if (from < end) nodes.push(...textNodes(text.slice(from, end)));
  return nodes;
}

/**
 * The end of a piece of a long text: at the end of a line if possible, never inside a character.
 * @param {string} text
 * @param {number} from
 * @returns {number}
 */
function pieceEnd(text, from) {
  const limit = from + PIECE;
  if (limit >= text.length) return text.length;
  const line = text.lastIndexOf("\n", limit);
  if (line > from) return line + 1;
  const code = text.charCodeAt(limit);
  return code >= 0xdc00 && code <= 0xdfff ? limit + 1 : limit;
}

/**
 * A block of wrapped text with its own direction and with marked passages. A very long text is cut, with a button for the rest.
 * @param {string} text
 * @param {Mark[]} [marks]
 * @returns {HTMLElement}
 */
export function textBlock(text, marks = []) {
  const block = el("div", { class: "text", dir: "auto" });
  /** @type {Set<string>} */
  const used = new Set();
  const lastMark = marks.at(-1);
  const shown = text.length > FOLD ? Math.max(FOLD / 5, lastMark ? Math.min(lastMark.end, FOLD) : 0) : text.length;
  /** @param {number} from @param {number} to */
  const fill = (from, to) => {
    if (to - from <= PIECE) {
      block.append(...markedNodes(text, from, to, marks, used));
      return;
    }
    for (let start = from; start < to;) {
      const end = Math.min(pieceEnd(text, start), to);
      block.append(el("div", { class: "piece" }, markedNodes(text, start, end, marks, used)));
      start = end;
    }
  };
  fill(0, shown);
  if (shown < text.length) {
    const rest = button(`Show all ${count(text.length)} characters`, () => {
      rest.remove();
      fill(shown, text.length);
    });
    block.append(rest);
  }
  return block;
}

/**
 * A whole number with separated thousands.
 * @param {number} value
 * @returns {string}
 */
export function count(value) {
  return value.toLocaleString("en-US");
}

/**
 * "1 row", "2 rows".
 * @param {number} value
 * @param {string} noun
 * @param {string} [plural]
 * @returns {string}
 */
export function counted(value, noun, plural = `${noun}s`) {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/**
 * A duration in a short form.
 * @param {number} value
 * @returns {string}
 */
export function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : `${count(Math.round(value))} s`;
}

/**
 * Dollars in the form of the tables: to the cent; below ten cents, cents.
 * @param {number} cost
 * @returns {string}
 */
export function dollars(cost) {
  if (cost === 0) return "$0";
  if (cost < 0.0005) return "<0.1 cents";
  if (cost < 0.0995) return `${(Math.round(cost * 1000 + 1e-9) / 10).toFixed(1)} cents`;
  const [whole = "0", cents = "00"] = (Math.round(cost * 100 + 1e-9) / 100).toFixed(2).split(".");
  return `$${count(Number(whole))}.${cents}`;
}

/**
 * A JSON value as text, indented by two spaces; a string unchanged.
 * @param {unknown} value
 * @returns {string}
 */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/**
 * Arguments or answers of a tool: JSON is formatted, any other text is unchanged.
 * @param {string} text
 * @returns {string}
 */
export function laidOut(text) {
  if (text.length > FOLD) return text;
  try {
    // Only if nothing is lost: JSON with a number too long for JavaScript, or with a duplicate key, stays as it was written.
    const value = JSON.parse(text);
    const same = JSON.stringify(value).replace(/\s/g, "") === text.replace(/\s/g, "");
    return same ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}
