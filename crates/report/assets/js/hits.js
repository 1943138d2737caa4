// The places where a searched text stands in the shown conversation: marked without a change of the page's elements, and walked through.

import { patternOf } from "./scan.js";

/** @typedef {{range: Range, message: Element}} Hit */

// The most places that are marked.
const MOST_HITS = 1_000;

/**
 * The text nodes inside an element, joined, and where each starts.
 * @param {Element} element
 */
function joinedText(element) {
  /** @type {{node: Text, start: number}[]} */
  const nodes = [];
  let text = "";
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node: /** @type {Text} */ (node), start: text.length });
    text += /** @type {Text} */ (node).data;
  }
  return { nodes, text };
}

/** The places of a searched text in a conversation. */
export class Hits {
  constructor() {
    /** @type {Range[]} */
    this.ranges = [];
    this.at = -1;
  }

  /**
   * Finds and marks a text in elements.
   * @param {Element[]} elements
   * @param {string} text
   */
  find(elements, text) {
    this.ranges = [];
    this.at = -1;
    for (const element of text ? elements : []) this.findIn(element, text);
    this.paint();
  }

  /**
   * @param {Element} element
   * @param {string} wanted
   */
  findIn(element, wanted) {
    const { nodes, text } = joinedText(element);
    let node = 0;
    /** The node and the place in it of a place in the joined text. @param {number} place */
    const position = (place) => {
      while (node + 1 < nodes.length && (nodes[node + 1]?.start ?? 0) <= place) node += 1;
      return nodes[node];
    };
    for (const { index: at, 0: found } of text.matchAll(patternOf(wanted, "g"))) {
      if (this.ranges.length >= MOST_HITS) return;
      const range = document.createRange();
      const first = position(at);
      if (first) range.setStart(first.node, at - first.start);
      const last = position(at + found.length - 1);
      if (!first || !last) continue;
      range.setEnd(last.node, at + found.length - last.start);
      this.ranges.push(range);
    }
  }

  /** Marks the places, where the browser can. */
  paint() {
    if (typeof Highlight === "undefined") return;
    const now = this.ranges[this.at];
    CSS.highlights.set("hit", new Highlight(...this.ranges));
    CSS.highlights.set("hit-now", new Highlight(...(now ? [now] : [])));
  }

  /**
   * Goes to another place: 1 is the next, -1 the one before.
   * @param {number} by
   */
  step(by) {
    const all = this.ranges.length;
    if (all === 0) return;
    this.at = this.at < 0 ? (by > 0 ? 0 : all - 1) : (this.at + by + all) % all;
    this.paint();
    const range = this.ranges[this.at];
    const box = range?.getBoundingClientRect();
    // A place in a folded part has no box.
    for (let part = range?.startContainer.parentElement?.closest("details:not([open])"); part; part = part.parentElement?.closest("details:not([open])")) part.setAttribute("open", "");
    const shown = box?.height ? box : range?.getBoundingClientRect();
    if (shown) window.scrollBy(0, shown.top - window.innerHeight / 2);
  }

  /** Where the reader is, in words. */
  words() {
    return this.ranges.length === 0 ? "no hit here" : `hit ${Math.max(1, this.at + 1)} of ${this.ranges.length}`;
  }
}
