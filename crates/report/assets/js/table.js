// A table of any number of rows. Only the visible rows are in the page. For screen readers and keyboards it is still a table.
import { el } from "./dom.js";

/**
 * @typedef {object} Column
 * @property {string} id The id; also the class of the column's cells.
 * @property {string} title
 * @property {(number: number) => (Node | string)[]} cell
 */

// The number of rows drawn above and below the visible rows.
const AROUND = 12;
// The most rows that are printed.
const MOST_PRINTED = 2_000;

/** A table of rows: all rows, the selected row, and the visible rows. */
export class RowTable {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {(number: number) => void} options.open Called with the number of a row that is opened by click or key.
   * @param {(column: string) => void} options.sort Called with the id of a column whose header is clicked.
   */
  constructor({ label, open, sort }) {
    /** @type {Column[]} */
    this.columns = [];
    /** @type {number[]} */
    this.numbers = [];
    /** Position of the selected row, or -1. */
    this.selected = -1;
    this.onOpen = open;
    this.onSort = sort;
    this.head = el("tr", { "aria-rowindex": 1 });
    this.body = el("tbody");
    this.table = el("table", { class: "data rows", "aria-label": label }, el("thead", {}, this.head), this.body);
    this.scroller = el("div", { class: "rows-scroll", tabindex: "0", role: "region", "aria-label": label }, this.table);
    this.frame = 0;
    this.drawn = { from: -1, to: -1 };
    this.scroller.addEventListener("scroll", () => this.later());
    new ResizeObserver(() => this.later()).observe(this.scroller);
    this.body.addEventListener("click", (event) => this.clicked(event));
    window.addEventListener("beforeprint", () => this.draw(0, Math.min(this.numbers.length, MOST_PRINTED)));
    window.addEventListener("afterprint", () => this.redraw());
  }

  /**
   * Sets the columns and how they are sorted.
   * @param {Column[]} columns
   * @param {string} sort
   */
  setColumns(columns, sort) {
    const focused = document.activeElement?.closest("th")?.className;
    this.columns = columns;
    this.head.replaceChildren(
      ...columns.map((column) => {
        const way = sort === column.id ? "ascending" : sort === `-${column.id}` ? "descending" : null;
        const title = el("button", { type: "button" }, column.title);
        title.addEventListener("click", () => this.onSort(column.id));
        return el("th", { scope: "col", class: column.id, "aria-sort": way }, title);
      }),
    );
    const button = focused && this.head.querySelector(`th.${focused} button`);
    if (button instanceof HTMLElement) button.focus({ preventScroll: true });
  }

  /**
   * Sets the rows, and selects the row with the number `selected` if it is among them.
   * @param {number[]} numbers
   * @param {number} selected
   */
  setRows(numbers, selected) {
    this.numbers = numbers;
    this.selected = selected < 0 ? -1 : numbers.indexOf(selected);
    this.table.setAttribute("aria-rowcount", String(numbers.length + 1));
    this.redraw();
  }

  /** The height of a row, from the stylesheet. */
  rowHeight() {
    return Number.parseFloat(getComputedStyle(this.table).getPropertyValue("--row-height")) || 30;
  }

  /** Draws the visible rows with the next frame. */
  later() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  /** Draws all visible rows again. */
  redraw() {
    this.drawn = { from: -1, to: -1 };
    this.draw();
  }

  /**
   * Draws the given range of rows, or the visible rows. Two spacers take the height of all other rows.
   * @param {number} [first]
   * @param {number} [last]
   */
  draw(first, last) {
    const height = this.rowHeight();
    const top = Math.floor(this.scroller.scrollTop / height);
    const inWindow = Math.ceil((this.scroller.clientHeight || 600) / height);
    const all = this.numbers.length;
    const from = first ?? Math.max(0, Math.min(top, all - inWindow) - AROUND);
    const to = last ?? Math.min(all, top + inWindow + AROUND);
    if (from === this.drawn.from && to === this.drawn.to) return;
    this.drawn = { from, to };
    const hadFocus = this.body.contains(document.activeElement);
    const rows = this.numbers.slice(from, to).map((number, place) => this.row(number, from + place));
    this.body.replaceChildren(this.spacer(from * height), ...rows, this.spacer((all - to) * height));
    if (!hadFocus) return;
    const link = this.link();
    // If the focused row is no longer visible, the scroller takes the focus. The keys still work from the row's position.
    (link ?? this.scroller).focus({ preventScroll: true });
  }

  /**
   * @param {number} height
   * @returns {HTMLTableRowElement}
   */
  spacer(height) {
    const row = el("tr", { class: "spacer", "aria-hidden": "true" }, el("td"));
    row.style.height = `${height}px`;
    row.hidden = height === 0;
    return row;
  }

  /**
   * @param {number} number
   * @param {number} position
   * @returns {HTMLTableRowElement}
   */
  row(number, position) {
    const cells = this.columns.map((column) => {
      const cell = el("td", { class: column.id }, column.cell(number));
      // The tooltip has the full name, because a long name is cut off.
      if (column.id === "model" || column.id === "metric" || column.id === "variant") cell.title = cell.textContent ?? "";
      return cell;
    });
    const selected = position === this.selected;
    const row = el("tr", { "aria-rowindex": position + 2, class: selected ? "selected" : null }, cells);
    row.querySelector("a")?.setAttribute("tabindex", selected || (this.selected < 0 && position === 0) ? "0" : "-1");
    row.dataset["position"] = String(position);
    return row;
  }

  /**
   * The link of the selected row; null if the row is not drawn.
   * @returns {HTMLAnchorElement | null}
   */
  link() {
    return this.body.querySelector(`tr[data-position="${this.selected}"] a`);
  }

  /**
   * @param {MouseEvent} event
   */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const row = target.closest("tr");
    const position = Number(row?.dataset["position"] ?? -1);
    const number = this.numbers[position];
    // Selecting text does not count as a click, and the browser handles links with modifier keys.
    if (number === undefined || getSelection()?.isCollapsed === false) return;
    this.selected = position;
    if (target.closest("a")) return;
    this.onOpen(number);
  }

  /**
   * Selects the row at a position, scrolls it into view and focuses its link.
   * @param {number} position
   * @param {{focus?: boolean}} [options]
   */
  select(position, { focus = true } = {}) {
    if (this.numbers.length === 0) return;
    this.selected = Math.max(0, Math.min(position, this.numbers.length - 1));
    const height = this.rowHeight();
    const head = this.head.offsetHeight;
    const above = this.selected * height;
    const view = this.scroller.clientHeight - head;
    if (above < this.scroller.scrollTop) this.scroller.scrollTop = above;
    else if (above + height > this.scroller.scrollTop + view) this.scroller.scrollTop = above + height - view;
    this.redraw();
    if (focus) this.link()?.focus({ preventScroll: true });
  }

  /**
   * The number of rows that the page keys move by: the rows that fit into the table's visible part, less two.
   * @returns {number}
   */
  page() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / this.rowHeight()) - 2);
  }
}
