// Two conversations side by side, turn by turn, with the different words marked.
import { el } from "./dom.js";
import { wordDiff } from "./diff.js";
import { textBlock, textNodes } from "./text.js";

/** @import {Conv, Message} from "./types.js" */

/**
 * The text of one role in a turn.
 * @param {Conv} conv
 * @param {number} turn
 * @param {string} role
 * @returns {string}
 */
function saidIn(conv, turn, role) {
  return conv.messages
    .filter((message) => message.turn === turn && message.role === role)
    .map((message) => [message.text, ...(message.tool_calls ?? []).map((call) => `[calls ${call.name} ${call.arguments}]`)].filter(Boolean).join("\n"))
    .join("\n\n");
}

/**
 * The two sides of a turn. Words that only one side has are in `<del>` or `<ins>`.
 * @param {string} first
 * @param {string} second
 * @returns {[HTMLElement, HTMLElement]}
 */
function sides(first, second) {
  const pieces = first && second ? wordDiff(first, second) : null;
  if (!pieces) return [textBlock(first || "(nothing)"), textBlock(second || "(nothing)")];
  const left = el("div", { class: "text", dir: "auto" });
  const right = el("div", { class: "text", dir: "auto" });
  for (const piece of pieces) {
    if (piece.in !== "b") left.append(el(piece.in === "a" ? "del" : "span", {}, textNodes(piece.a)));
    if (piece.in !== "a") right.append(el(piece.in === "b" ? "ins" : "span", {}, textNodes(piece.b)));
  }
  return [left, right];
}

/**
 * A table that compares two conversations.
 * @param {Conv} first
 * @param {Conv} second
 * @param {string} firstName
 * @param {string} secondName
 * @returns {HTMLElement}
 */
export function comparison(first, second, firstName, secondName) {
  const turns = [...new Set([...first.messages, ...second.messages].map((/** @type {Message} */ message) => message.turn))].sort((a, b) => a - b);
  const body = el("tbody");
  for (const turn of turns) {
    for (const role of ["user", "assistant"]) {
      const a = saidIn(first, turn, role);
      const b = saidIn(second, turn, role);
      if (!a && !b) continue;
      const [left, right] = sides(a, b);
      const who = role === "user" ? "User" : "Model";
      const same = a === b ? el("small", { class: "muted" }, "the same") : null;
      body.append(
        el("tr", { class: role }, el("th", { scope: "row" }, `${turn} ${who}`, same && " ", same), el("td", {}, left), el("td", {}, right)),
      );
    }
  }
  return el(
    "table",
    { class: "comparison" },
    el("caption", {}, "Words only in the first are ", el("del", {}, "struck out"), ", words only in the second ", el("ins", {}, "underlined"), "."),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Turn"), el("th", { scope: "col" }, firstName), el("th", { scope: "col" }, secondName))),
    body,
  );
}
