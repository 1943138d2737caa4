// The text of a model as paragraphs, lists, tables, quotes and code, by rules of this page. It is made of elements and text: nothing in it
// is read as HTML. A mark of the text keeps its place, whatever stands around it.
import { el } from "./dom.js";
import { writeInline } from "./inline.js";
import { markedNodes, textBlock } from "./text.js";

/** @import {Mark} from "./text.js" */

/**
 * A line, or what is left of it inside a quote or a list: a range of the whole text without its end of line.
 * @typedef {{start: number, end: number}} Line
 */

// A longer text is shown as it was written: its structure would take too long to lay out.
const LONGEST = 60_000;
// Quotes and lists inside each other are followed this deep.
const DEEPEST_BLOCK = 8;
// With more columns, lines are no table.
const MOST_COLUMNS = 40;
// From this many columns on, a table scrolls inside itself.
const MANY_COLUMNS = 5;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]{0,60})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(?=\S)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+•]|(\d{1,9})[.)])[ \t]+(?=\S)/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** A text of a model, and the elements that it becomes. */
class Prose {
  /**
   * @param {string} text
   * @param {Mark[]} marks
   */
  constructor(text, marks) {
    this.text = text;
    this.marks = marks;
    /** Ids that an element has. @type {Set<string>} */
    this.used = new Set();
  }

  /** @param {Line} line */
  of(line) {
    return this.text.slice(line.start, line.end);
  }

  /** The lines of the text. */
  lines() {
    /** @type {Line[]} */
    const lines = [];
    let start = 0;
    for (const end of this.text.matchAll(/\r\n|\n|$/g)) {
      lines.push({ start, end: end.index });
      start = end.index + end[0].length;
    }
    return lines;
  }

  /**
   * Writes a range of the text.
   * @param {HTMLElement} parent
   * @param {number} from
   * @param {number} to
   */
  put(parent, from, to) {
    if (from < to) parent.append(...markedNodes(this.text, from, to, this.marks, this.used));
  }

  /**
   * Writes lines as one paragraph: their ends stay ends of lines.
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   */
  paragraph(parent, lines) {
    const text = lines.map((line) => this.of(line)).join("\n");
    // Where each line starts in the joined text.
    /** @type {number[]} */
    const starts = [];
    let length = 0;
    let first = 0;
    for (const line of lines) {
      starts.push(length);
      length += line.end - line.start + 1;
    }
    writeInline(parent, text, (into, from, to) => {
      // What is written comes in order, so that the search goes on where it stopped.
      while (first + 1 < lines.length && (starts[first + 1] ?? 0) <= from) first += 1;
      for (let place = first; place < lines.length && (starts[place] ?? 0) < to; place++) {
        const line = /** @type {Line} */ (lines[place]);
        const start = starts[place] ?? 0;
        const end = start + line.end - line.start;
        this.put(into, line.start + Math.max(0, from - start), line.start + Math.min(line.end - line.start, to - start));
        if (to > end && place < lines.length - 1) into.append("\n");
      }
    });
    // Set last: with each further child, the browser would look for the direction again.
    parent.dir = "auto";
  }

  /**
   * Writes lines as blocks.
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   * @param {number} depth
   */
  blocks(parent, lines, depth) {
    let at = 0;
    while (at < lines.length) {
      const line = /** @type {Line} */ (lines[at]);
      const text = this.of(line);
      if (!text.trim()) {
        at += 1;
        continue;
      }
      const end = this.block(parent, lines, at, text, depth);
      if (end > at) {
        at = end;
        continue;
      }
      let last = at + 1;
      while (last < lines.length && !this.starts(lines, last)) last += 1;
      const paragraph = el("p");
      this.paragraph(paragraph, lines.slice(at, last));
      parent.append(paragraph);
      at = last;
    }
  }

  /**
   * Whether a paragraph ends before this line.
   * @param {Line[]} lines
   * @param {number} at
   */
  starts(lines, at) {
    const text = this.of(/** @type {Line} */ (lines[at]));
    return !text.trim() || FENCE.test(text) || HEADING.test(text) || RULE.test(text) || QUOTE.test(text) || ITEM.test(text) || this.isTable(lines, at);
  }

  /**
   * Writes the block that starts at a line, other than a paragraph. Returns the line after it, or `at` if no block starts there.
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   * @param {number} at
   * @param {string} text The line.
   * @param {number} depth
   * @returns {number}
   */
  block(parent, lines, at, text, depth) {
    const line = /** @type {Line} */ (lines[at]);
    const fence = FENCE.exec(text);
    if (fence) return this.fence(parent, lines, at, fence);
    const heading = HEADING.exec(text);
    if (heading) {
      const level = heading[1]?.length ?? 1;
      // No heading of the page: a reader of headings would take a model's words for the report's.
      const element = el("p", { class: `heading heading-${level}` });
      const closed = text.replace(/[ \t]+#+[ \t]*$/, "");
      this.paragraph(element, [{ start: line.start + heading[0].length, end: line.start + closed.length }]);
      parent.append(element);
      return at + 1;
    }
    if (RULE.test(text)) {
      parent.append(el("hr"));
      return at + 1;
    }
    if (this.isTable(lines, at)) return this.table(parent, lines, at);
    if (depth >= DEEPEST_BLOCK) return at;
    if (QUOTE.test(text)) return this.quote(parent, lines, at, depth);
    return ITEM.test(text) ? this.list(parent, lines, at, depth) : at;
  }

  /**
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   * @param {number} at
   * @param {RegExpExecArray} fence
   * @returns {number}
   */
  fence(parent, lines, at, fence) {
    const mark = fence[1] ?? "```";
    const close = new RegExp(`^ {0,3}[${mark[0]}]{${mark.length},}[ \\t]*$`);
    let end = at + 1;
    while (end < lines.length && !close.test(this.of(/** @type {Line} */ (lines[end])))) end += 1;
    const code = el("code");
    for (const [place, line] of lines.slice(at + 1, end).entries()) {
      if (place > 0) code.append("\n");
      this.put(code, line.start, line.end);
    }
    const name = el("span", { class: "fence-name" });
    const start = (lines[at]?.start ?? 0) + fence[0].length - (fence[2]?.length ?? 0);
    this.put(name, start, start + (fence[2] ?? "").trimEnd().length);
    parent.append(el("pre", { dir: "ltr" }, name.textContent ? name : null, code));
    return end + 1;
  }

  /**
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   * @param {number} at
   * @param {number} depth
   * @returns {number}
   */
  quote(parent, lines, at, depth) {
    /** @type {Line[]} */
    const inside = [];
    let end = at;
    for (; end < lines.length; end++) {
      const line = /** @type {Line} */ (lines[end]);
      const mark = QUOTE.exec(this.of(line));
      if (!mark) break;
      inside.push({ start: line.start + mark[0].length, end: line.end });
    }
    const quote = el("blockquote");
    this.blocks(quote, inside, depth + 1);
    parent.append(quote);
    return end;
  }

  /**
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   * @param {number} at
   * @param {number} depth
   * @returns {number}
   */
  list(parent, lines, at, depth) {
    const first = ITEM.exec(this.of(/** @type {Line} */ (lines[at])));
    const isOrdered = first?.[3] !== undefined;
    const indent = indentWidth(first?.[1] ?? "");
    const list = isOrdered ? el("ol", { start: Number(first?.[3]) === 1 ? null : Number(first?.[3]) }) : el("ul");
    let end = at;
    while (end < lines.length) {
      const line = /** @type {Line} */ (lines[end]);
      const item = ITEM.exec(this.of(line));
      if (!item || (item[3] !== undefined) !== isOrdered || Math.abs(indentWidth(item[1] ?? "") - indent) > 1) break;
      const inside = [{ start: line.start + item[0].length, end: line.end }];
      end = this.itemEnd(lines, end + 1, indent, inside);
      const element = el("li");
      this.blocks(element, inside, depth + 1);
      element.dir = "auto";
      list.append(element);
    }
    parent.append(list);
    return end;
  }

  /**
   * Adds the further lines of a list's item to `inside`. Returns the line after them.
   * @param {Line[]} lines
   * @param {number} from
   * @param {number} indent The indent of the list.
   * @param {Line[]} inside
   * @returns {number}
   */
  itemEnd(lines, from, indent, inside) {
    let end = from;
    let isAfterBlank = false;
    for (let at = from; at < lines.length; at++) {
      const line = /** @type {Line} */ (lines[at]);
      const text = this.of(line);
      if (!text.trim()) {
        isAfterBlank = true;
        continue;
      }
      const space = /^[ \t]*/.exec(text)?.[0] ?? "";
      const isInside = indentWidth(space) > indent + 1;
      // The line of a paragraph goes on without an indent.
      if (!isInside && (isAfterBlank || this.starts(lines, at))) {
        const next = ITEM.exec(text);
        return next && indentWidth(next[1] ?? "") === indent ? at : end;
      }
      if (isAfterBlank) inside.push({ start: line.start, end: line.start });
      isAfterBlank = false;
      const cut = Math.min(space.length, indent + 4);
      inside.push({ start: line.start + (isInside ? cut : space.length), end: line.end });
      end = at + 1;
    }
    return end;
  }

  /**
   * Whether a table starts at a line: a line with `|`, and a line of dashes with as many columns.
   * @param {Line[]} lines
   * @param {number} at
   */
  isTable(lines, at) {
    const [head, below] = [lines[at], lines[at + 1]];
    if (!head || !below || !this.of(head).includes("|")) return false;
    const text = this.of(below);
    if (!text.includes("-") || !DELIMITERS.test(text)) return false;
    const columns = this.cells(below).length;
    return columns <= MOST_COLUMNS && columns === this.cells(head).length;
  }

  /**
   * The cells of a line of a table.
   * @param {Line} line
   * @returns {Line[]}
   */
  cells(line) {
    const text = this.of(line);
    let { start } = line;
    let end = line.end;
    start += /^[ \t]*\|?/.exec(text)?.[0].length ?? 0;
    if (/[^\\]\|[ \t]*$/.test(text)) end = line.start + text.lastIndexOf("|");
    /** @type {Line[]} */
    const cells = [];
    let from = start;
    for (let at = start; at <= end; at++) {
      const isBar = this.text[at] === "|" && this.text[at - 1] !== "\\";
      if (at < end && !isBar) continue;
      const cell = this.text.slice(from, at);
      const left = from + (cell.length - cell.trimStart().length);
      cells.push({ start: Math.min(left, at), end: Math.max(Math.min(left, at), from + cell.trimEnd().length) });
      from = at + 1;
    }
    return cells;
  }

  /**
   * @param {HTMLElement} parent
   * @param {Line[]} lines
   * @param {number} at
   * @returns {number}
   */
  table(parent, lines, at) {
    /** @param {"th" | "td"} tag @param {Line} line @param {number} [most] */
    const row = (tag, line, most) => {
      const made = this.cells(line).slice(0, most).map((cell) => {
        const element = el(tag, { scope: tag === "th" ? "col" : null });
        this.paragraph(element, [cell]);
        // An empty heading is no heading.
        return tag === "th" && !element.textContent ? el("td") : element;
      });
      return el("tr", {}, made);
    };
    const head = row("th", /** @type {Line} */ (lines[at]));
    const columns = head.childElementCount;
    const body = el("tbody");
    let end = at + 2;
    for (; end < lines.length; end++) {
      const line = /** @type {Line} */ (lines[end]);
      if (!this.of(line).includes("|")) break;
      body.append(row("td", line, columns));
    }
    const table = el("table", {}, el("thead", {}, head), body);
    parent.append(columns < MANY_COLUMNS ? table : el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, table));
    return end;
  }
}

/**
 * The width of an indent: a tab counts as four spaces.
 * @param {string} space
 * @returns {number}
 */
function indentWidth(space) {
  return space.replaceAll("\t", "    ").length;
}

/**
 * A model's text as elements, with marked passages. A very long text is shown as it was written.
 * @param {string} text
 * @param {Mark[]} [marks]
 * @returns {HTMLElement}
 */
export function proseBlock(text, marks = []) {
  if (text.length > LONGEST) return textBlock(text, marks);
  const block = el("div", { class: "text prose" });
  const prose = new Prose(text, marks);
  prose.blocks(block, prose.lines(), 0);
  block.dir = "auto";
  return block;
}
