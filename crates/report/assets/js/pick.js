// A filter of several values: a button that opens a list of boxes.
import { el } from "./dom.js";
import { visible } from "./text.js";

/** @import {Choice} from "./filter.js" */

// From this many choices on, a field narrows the list.
const MANY_CHOICES = 12;

/** A filter of several values. */
export class Pick {
  /**
   * @param {string} name
   * @param {string} title
   * @param {(values: string[]) => void} change
   */
  constructor(name, title, change) {
    this.title = title;
    this.change = change;
    /** @type {Choice[]} */
    this.offered = [];
    /** @type {string[]} */
    this.values = [];
    this.drawn = "";
    this.summary = el("summary");
    this.list = el("div", { class: "pick-list" });
    this.element = el("details", { class: `pick filter-${name}`, id: `filter-${name}`, name: "filters" }, this.summary, this.list);
    this.list.addEventListener("change", (event) => this.changed(event));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.element.open) return;
      event.preventDefault();
      event.stopPropagation();
      this.element.open = false;
      this.summary.focus();
    });
    document.addEventListener("click", (event) => {
      if (event.target instanceof Node && !this.element.contains(event.target)) this.element.open = false;
    });
  }

  /** @param {Event} event */
  changed(event) {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box.type !== "checkbox") return;
    this.change(box.checked ? [...this.values, box.value] : this.values.filter((value) => value !== box.value));
  }

  /**
   * Shows the choices, and which are chosen. A chosen value that no row has is a choice as well. Unchanged choices are not written again,
   * so that an open list stays as it is.
   * @param {Choice[]} offered
   * @param {string[]} values
   * @param {number} least With fewer choices than this, and none chosen, the filter is hidden.
   */
  show(offered, values, least) {
    const unknown = values.filter((value) => !offered.some((choice) => choice.value === value));
    this.offered = [...offered, ...unknown.map((value) => ({ value, text: value }))];
    this.values = values;
    this.element.hidden = values.length === 0 && offered.length < least;
    const names = this.offered.filter((choice) => values.includes(choice.value)).map((choice) => choice.text);
    const chosen = names.length === 0 ? "all" : names.length === 1 ? (names[0] ?? "") : `${names.length} chosen`;
    this.summary.replaceChildren(el("span", { class: "muted" }, `${this.title}: `), el("span", { dir: "auto" }, visible(chosen)));
    this.element.classList.toggle("chosen", names.length > 0);
    this.draw();
  }

  /** Writes the boxes. */
  draw() {
    const now = JSON.stringify(this.offered);
    if (now !== this.drawn) {
      this.drawn = now;
      const boxes = this.offered.map((choice) => el("label", {}, el("input", { type: "checkbox", value: choice.value }), " ", el("span", { dir: "auto" }, visible(choice.text))));
      this.list.replaceChildren(...(boxes.length < MANY_CHOICES ? [] : [this.narrow(boxes)]), ...boxes);
    }
    for (const box of this.list.querySelectorAll("input")) if (box.type === "checkbox") box.checked = this.values.includes(box.value);
  }

  /**
   * A field that narrows a long list.
   * @param {HTMLElement[]} boxes
   * @returns {HTMLElement}
   */
  narrow(boxes) {
    const field = el("input", { type: "search", placeholder: "narrow", "aria-label": `Narrow the list: ${this.title}` });
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      for (const box of boxes) box.hidden = !(box.textContent ?? "").toLowerCase().includes(wanted);
    });
    return field;
  }
}
