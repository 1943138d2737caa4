// The keyboard shortcuts of the shown page, and the list of them.
import { button, el } from "./dom.js";

/** @import {Key} from "./types.js" */

/** @type {Key[]} */
let pageKeys = [];

/** @type {Record<string, string>} */
const KEY_CAPS = { ArrowDown: "↓", ArrowUp: "↑", PageDown: "Page ↓", PageUp: "Page ↑", Escape: "Esc" };

/**
 * The key caps of one shortcut, which may have several keys.
 * @param {string} keys
 * @returns {Node[]}
 */
function caps(keys) {
  return keys.split(" ").flatMap((key) => [el("kbd", {}, KEY_CAPS[key] ?? key), document.createTextNode(" ")]);
}

/**
 * Sets the shortcuts of the shown page.
 * @param {Key[]} keys
 */
export function setKeys(keys) {
  pageKeys = keys;
}

/**
 * Whether the element takes keys as text.
 * @param {EventTarget | null} target
 * @returns {boolean}
 */
function takesText(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** Shows the shortcuts of this page. */
export function showKeys() {
  if (document.querySelector("dialog.keys")) return;
  const rows = pageKeys.filter((key) => key.does).map((key) => el("tr", {}, el("th", { scope: "row" }, caps(key.key)), el("td", {}, key.does)));
  rows.push(el("tr", {}, el("th", { scope: "row" }, caps("?")), el("td", {}, "this list")));
  const dialog = el("dialog", { class: "keys", "aria-labelledby": "keys-title" });
  dialog.append(
    el("h2", { id: "keys-title" }, "Keys"),
    el("table", {}, el("tbody", {}, rows)),
    button("Close", () => dialog.close()),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Starts to listen to the keyboard. */
export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (takesText(event.target)) {
      if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
      return;
    }
    if (event.key === "?") {
      event.preventDefault();
      showKeys();
      return;
    }
    // Enter and space belong to the button or link that has the focus.
    const onControl = event.target instanceof HTMLElement && event.target.closest("a, button, summary, label");
    if (onControl && (event.key === "Enter" || event.key === " ")) return;
    const found = pageKeys.find((key) => key.key.split(" ").includes(event.key));
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}
