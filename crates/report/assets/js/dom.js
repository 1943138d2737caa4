// Helpers that create elements. Text is only inserted as text: no code in these modules parses text from a model as HTML.

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Creates an element with attributes and children. An attribute that is false, null or undefined is left out; true is an empty attribute.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/**
 * Creates a button.
 * @param {string} text
 * @param {(event: MouseEvent) => void} action
 * @param {Record<string, string | boolean | undefined>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function button(text, action, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/**
 * Creates a button that also has a key. The key is shown after the button's text if there is room.
 * @param {string} text
 * @param {string} key
 * @param {(event: MouseEvent) => void} action
 * @param {Record<string, string | boolean | undefined>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function keyButton(text, key, action, attributes = {}) {
  const made = button(text, action, attributes);
  made.append(el("span", { class: "key" }, ` (${key})`));
  return made;
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/**
 * A foldable part. Its content is created when the part is first opened.
 * @param {string} summary
 * @param {() => Node} content
 * @param {Record<string, string | boolean | undefined>} [attributes]
 * @returns {HTMLDetailsElement}
 */
export function folded(summary, content, attributes = {}) {
  const details = el("details", attributes, el("summary", {}, summary));
  const fill = () => {
    if (details.open && details.childElementCount === 1) details.append(content());
  };
  details.addEventListener("toggle", fill);
  // Readers cannot unfold a part on paper, so parts are opened before printing.
  details.addEventListener("probity-print", () => {
    details.open = true;
    fill();
  });
  fill();
  return details;
}

/**
 * Links to other pages, for a page that has nothing to show.
 * @returns {HTMLElement}
 */
export function waysOut() {
  return el("p", {}, el("a", { href: "#/" }, "Overview"), " · ", el("a", { href: "#/rows" }, "All rows"));
}

let toastTimer = 0;

/**
 * Shows a message for a moment, to screen readers too.
 * @param {string} text
 */
export function say(text) {
  let toast = document.getElementById("toast");
  if (!toast) {
    toast = el("div", { id: "toast", role: "status" });
    document.body.append(toast);
  }
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("shown"), 2500);
}

/**
 * Copies a text to the clipboard.
 * @param {string} text
 * @param {string} what Its name, for the message.
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    // Without permission for the clipboard, a field shows the text so that the reader can copy it.
    const area = el("textarea", { rows: 8, readonly: true, "aria-label": what });
    area.value = text;
    const dialog = el("dialog", { class: "copy" }, el("p", {}, `${what}: copy it from here`), area);
    dialog.append(button("Close", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    area.select();
  }
}

/**
 * Offers a text as a file.
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
