// The page of rows: filters, a search through the transcripts, and the table.
import { measureColumns, rowColumns } from "./columns.js";
import { button, byId, el, waysOut } from "./dom.js";
import { choices, isMetric, matching, ORDERS, sorted } from "./filter.js";
import { setKeys } from "./keys.js";
import { Pick } from "./pick.js";
import { emptyFilter, rowAddress, writeRoute } from "./router.js";
import { searchRows } from "./search.js";
import { RowTable } from "./table.js";
import { count, counted, visible } from "./text.js";
import { heldRows, sameRow, titleWords } from "./words.js";

/** @import {Filter, Index, Route, Source} from "./types.js" */
const SELECTS = /** @type {const} */ (["model", "metric", "verdict", "variant", "tag", "error", "label"]);
/** @typedef {typeof SELECTS[number]} SelectName */
// The filters whose value in an address may be missing in the report.
const UNKNOWN = /** @type {const} */ (["model", "metric", "variant", "tag"]);
// The filters of which every row has a value: with one choice there is nothing to choose.
/** @type {SelectName[]} */
const HAVE_ALL = ["model", "metric", "verdict"];
/** @type {Record<SelectName, string>} */
const SELECT_TITLES = { model: "Model", metric: "Metric", verdict: "Verdict", variant: "Variant", tag: "Tag", error: "Problem", label: "Label" };

/** The page of rows. */
export class RowsPage {
  /**
   * @param {Source} source
   * @param {(route: Route, replace: boolean) => void} go
   */
  constructor(source, go) {
    this.source = source;
    this.go = go;
    /** @type {Index | null} */
    this.index = null;
    this.filter = emptyFilter();
    /** Rows that contain the searched text, with the words around it; null without a search. @type {Map<number, string> | null} */
    this.found = null;
    this.searched = "";
    this.search = new AbortController();
    /** Number of the row that was viewed last, or -1. */
    this.current = -1;
    this.scrolled = 0;
    /** The timer that delays the search while the reader types. */
    this.typing = 0;
    /** @type {Map<SelectName, Pick>} */
    this.picks = new Map();
    this.order = el("select", { id: "sort" });
    this.table = new RowTable({
      label: "Table of rows",
      open: (number) => this.open(number),
      sort: (column) => this.sortBy(column),
    });
    this.text = el("input", { type: "search", id: "filter-text", placeholder: "in transcripts", autocomplete: "off", spellcheck: "false" });
    this.counter = el("p", { class: "count", role: "status" });
    this.progress = el("progress", { "aria-label": "Transcripts searched" });
    this.cancel = button("Stop", () => this.stopSearch());
    this.working = el("span", { class: "working", hidden: true }, this.progress, " ", this.cancel);
    this.themes = el("a", { hidden: true }, "Themes of the failures");
    this.note = el("p", { class: "muted kept", hidden: true });
    this.unknown = el("div", { class: "note unknown", role: "status", hidden: true });
    /** @type {ReturnType<typeof choices> | null} */
    this.offered = null;
    this.clear = button("Clear filters", () => this.change(emptyFilter({ sort: this.filter.sort }), false));
    this.build();
  }

  /** Puts the filters and the table into the page. */
  build() {
    const fields = SELECTS.map((name) => {
      const pick = new Pick(name, SELECT_TITLES[name], (values) => this.change({ ...this.filter, [name]: values }, false));
      this.picks.set(name, pick);
      return pick.element;
    });
    this.order.addEventListener("change", () => this.change({ ...this.filter, sort: this.order.value }, true));
    this.text.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.change({ ...this.filter, text: this.text.value.trim() }, true), 250);
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      if (event.key === "Escape") this.text.value = "";
      this.change({ ...this.filter, text: this.text.value.trim() }, true);
      if (event.key === "Escape") this.text.blur();
      else this.table.select(0);
    });
    const form = el(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter rows" },
      el("label", { class: "filter-text", for: "filter-text" }, el("span", { class: "sr" }, "Search"), this.text),
      fields,
      el("label", { class: "sort", for: "sort" }, el("span", { class: "sr" }, "Sort"), this.order),
      this.clear,
    );
    form.addEventListener("submit", (event) => event.preventDefault());
    const filters = el("details", { class: "filter-box", open: !matchMedia("(max-width: 40rem)").matches }, el("summary", {}, "Filters"), form);
    byId("rows").replaceChildren(
      el("h2", {}, "Rows"),
      filters,
      el("div", { class: "status" }, this.counter, this.themes, this.working),
      this.note,
      this.unknown,
      this.table.scroller,
    );
  }

  /**
   * Sets a new index. The filter, the scroll position and the selection are kept.
   * @param {Index} index
   */
  setIndex(index) {
    if (this.index) this.current = sameRow(this.index, this.current, index);
    this.index = index;
    this.offered = choices(index);
    const metrics = this.picks.get("metric");
    if (metrics) metrics.title = titleWords(index).metric;
    measureColumns(this.table.table, index);
    const held = index.rows.length;
    this.note.hidden = held >= index.total_rows;
    if (held === 0 && !index.chosen) this.note.replaceChildren(`This page holds none of the ${count(index.total_rows)} rows: it was made with `, el("code", {}, "--rows none"), ".");
    else this.note.replaceChildren(`This page holds ${count(held)} of ${counted(index.total_rows, "row")}, `, ...heldRows(index));
    this.searched = "";
    if (this.filter.text) this.startSearch();
    this.fill();
  }

  /**
   * Shows the rows of a filter.
   * @param {Filter} filter
   */
  show(filter) {
    const same = JSON.stringify(filter) === JSON.stringify(this.filter);
    this.filter = filter;
    // Typed text is already in the address. Any other address sets the searched text.
    clearTimeout(this.typing);
    if (this.text.value.trim() !== filter.text) this.text.value = filter.text;
    if (filter.text !== this.searched) this.startSearch();
    this.fill();
    this.table.scroller.scrollTop = same ? this.scrolled : 0;
    setKeys(this.keys());
    const position = this.table.numbers.indexOf(this.current);
    if (position >= 0) this.table.select(position);
  }

  /** Remembers the scroll position of the table, which a hidden element loses. */
  leave() {
    if (!byId("rows").hidden) this.scrolled = this.table.scroller.scrollTop;
  }

  /** Writes the filter into its fields, and the rows into the table. */
  fill() {
    const index = this.index;
    if (!index) return;
    // A filter without a real choice is hidden.
    for (const [name, pick] of this.picks) pick.show(this.offered?.[name] ?? [], this.filter[name], HAVE_ALL.includes(name) ? 2 : 1);
    this.showOrder();
    this.sayUnknown();
    this.clear.hidden = !Object.entries(this.filter).some(([key, value]) => key !== "sort" && value.length > 0);
    const { found } = this;
    const numbers = matching(index, this.filter).filter((number) => !found || found.has(number));
    this.table.setColumns(rowColumns(index, numbers, { hits: found, find: this.filter.text }), this.filter.sort);
    this.table.setRows(sorted(index, numbers, this.filter.sort), this.current);
    this.counter.textContent = this.countWords(index, numbers);
    const [metric, ...others] = this.filter.metric;
    this.themes.hidden = metric === undefined || others.length > 0 || numbers.length === 0;
    if (metric !== undefined) this.themes.href = writeRoute({ page: "themes", metric });
  }

  /** Sets the field of the order. The order of a column is a choice while it is set. */
  showOrder() {
    const { sort } = this.filter;
    const orders = ORDERS.some((order) => order.value === sort) ? ORDERS : [...ORDERS, { value: sort, text: `by column ${sort.replace("-", "")}` }];
    this.order.replaceChildren(...orders.map((order) => el("option", { value: order.value }, visible(order.text))));
    this.order.value = sort;
  }

  /** Shows a note on each model, metric or variant in the address that the report does not have. */
  sayUnknown() {
    const known = (/** @type {typeof UNKNOWN[number]} */ name, /** @type {string} */ value) =>
      name === "metric" ? this.index?.metrics.some((metric) => isMetric(metric, value)) : this.offered?.[name].some((choice) => choice.value === value);
    const unknown = UNKNOWN.flatMap((name) => this.filter[name].filter((value) => !known(name, value)).map((value) => ({ name, value })));
    this.unknown.hidden = unknown.length === 0;
    const told = unknown.map(({ name, value }) => el("p", {}, `This report has no ${name} `, el("code", {}, visible(value)), "."));
    this.unknown.replaceChildren(...told, waysOut());
  }

  /**
   * @param {Index} index
   * @param {number[]} numbers
   * @returns {string}
   */
  countWords(index, numbers) {
    const of = numbers.length === index.rows.length ? counted(numbers.length, "row") : `${count(numbers.length)} of ${counted(index.rows.length, "row")}`;
    const tally = { pass: 0, fail: 0, none: 0, pending: 0 };
    for (const number of numbers) tally[index.rows[number]?.verdict ?? "none"] += 1;
    const parts = [`${count(tally.fail)} fail`, `${count(tally.pass)} pass`, `${count(tally.none)} without a verdict`, `${count(tally.pending)} pending`];
    return numbers.length ? `${of}: ${parts.filter((part) => !part.startsWith("0 ")).join(", ")}` : of;
  }

  /**
   * Changes the filter, and the address with it.
   * @param {Filter} filter
   * @param {boolean} replace Whether to replace the history's entry, so that typing adds one entry, not one for each letter.
   */
  change(filter, replace) {
    this.go({ page: "rows", filter }, replace);
  }

  /** @param {string} column */
  sortBy(column) {
    const sort = this.filter.sort === column ? `-${column}` : this.filter.sort === `-${column}` ? "" : column;
    this.change({ ...this.filter, sort }, true);
  }

  /** Searches the transcripts for the text of the filter. */
  startSearch() {
    this.search.abort();
    this.searched = this.filter.text;
    const index = this.index;
    if (!this.filter.text || !index) {
      this.found = null;
      this.working.hidden = true;
      return;
    }
    const search = new AbortController();
    this.search = search;
    this.found = new Map();
    this.working.hidden = false;
    const start = performance.now();
    let [next, moved] = [start + 200, start];
    const finish = () => {
      if (search.signal.aborted) return;
      this.working.hidden = true;
      this.fill();
    };
    // The search covers all rows, whatever the other filters are, so that a change of these needs no new search.
    const all = index.rows.map((_row, number) => number);
    searchRows(this.source, index, all, this.filter.text, search.signal, (found, done, chunks) => {
      if (search.signal.aborted) return;
      this.found = found;
      // Most of the time is for the search, however many rows there are: what is drawn keeps the workers from a processor.
      const began = performance.now();
      if (began < moved + 100) return;
      moved = began;
      this.progress.max = chunks;
      this.progress.value = done;
      if (began < next) return;
      this.fill();
      const filled = performance.now();
      next = filled + Math.max(Math.min(2_000, filled - start), 8 * (filled - began));
    }).then(
      (found) => {
        if (!search.signal.aborted) this.found = found;
        finish();
      },
      (error) => {
        finish();
        if (!search.signal.aborted) this.counter.textContent = `The search stopped: ${error.message}`;
      },
    );
  }

  /** Stops a search. The rows found so far stay shown. */
  stopSearch() {
    this.search.abort();
    this.working.hidden = true;
    this.fill();
    this.counter.textContent += " (search stopped: not all transcripts were read)";
    this.text.focus();
  }

  /** @param {number} number */
  open(number) {
    const row = this.index?.rows[number];
    if (!this.index || !row) return;
    this.current = number;
    location.hash = rowAddress(this.index, row, "", this.filter.text);
  }

  /** @returns {import("./types.js").Key[]} */
  keys() {
    const { table } = this;
    /** @param {string} key @param {string} does @param {() => void} run */
    const key = (key, does, run) => ({ key, does, run });
    return [
      key("j ArrowDown", "next row", () => table.select(table.selected + 1)),
      key("k ArrowUp", "previous row", () => table.select(Math.max(0, table.selected - 1))),
      key("PageDown", "a window further", () => table.select(table.selected + table.page())),
      key("PageUp", "a window back", () => table.select(table.selected - table.page())),
      key("Home", "first row", () => table.select(0)),
      key("End", "last row", () => table.select(table.numbers.length - 1)),
      key("Enter", "open the row", () => {
        const number = table.numbers[table.selected];
        if (number !== undefined) this.open(number);
      }),
      key("/", "search in transcripts", () => {
        const box = this.text.closest("details");
        if (box) box.open = true;
        this.text.focus();
        this.text.select();
      }),
      key("Escape", "clear the filters", () => this.change(emptyFilter({ sort: this.filter.sort }), false)),
    ];
  }
}
