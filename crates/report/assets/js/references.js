// The numbers of messages in a judge's words, as links to the messages.

/** @import {Mark} from "./text.js" */

// `[4]`, `[2, 4]`, `message 4`, `Message [4]`, `messages 2 and 4`, `messages 2-4`.
const REFERENCE = /\[\d{1,5}(?:\s*[,;–-]\s*\d{1,5})*\]|\bmessages?\s+(?:(?:no\.|number|#)\s*)?\[?\d{1,5}\b\]?(?:(?:\s*(?:,|&|–|-|\band\b|\bor\b|\bto\b))+\s*\[?\d{1,5}\b\]?)*/gi;

// The most links in a text. A judge's reason has fewer numbers.
const MOST_LINKS = 200;

/**
 * The links in a text, one for each number of an existing message, up to the limit.
 * @param {string} text
 * @param {number} messages The number of messages.
 * @param {(number: number) => string} address Returns the address of a message.
 * @returns {Mark[]}
 */
export function messageLinks(text, messages, address) {
  /** @type {Mark[]} */
  const links = [];
  for (const found of text.matchAll(REFERENCE)) {
    const numbers = [...found[0].matchAll(/\[\d+\]|\d+/g)];
    for (const named of numbers) {
      const number = Number(named[0].replace(/\D/g, ""));
      if (number < 1 || number > messages) continue;
      if (links.length >= MOST_LINKS) return links;
      // For a single number, the link includes the word before it.
      const start = found.index + (numbers.length === 1 ? 0 : named.index);
      const end = found.index + (numbers.length === 1 ? found[0].length : named.index + named[0].length);
      links.push({ start, end, id: "", title: `message ${number}`, href: address(number) });
    }
  }
  return links;
}
