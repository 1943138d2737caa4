// The page of rows: filters, a search through the transcripts, and the table.
import { measureColumns, rowColumns } from "./columns.js";
import { button, byId, el, waysOut } from "./dom.js";
import { choices, isMetric, matching, sorted } from "./filter.js";
import { setKeys } from "./keys.js";
import { emptyFilter, rowAddress } from "./router.js";
import { searchRows } from "./search.js";
import { RowTable } from "./table.js";
import { count, counted, visible } from "./text.js";
import { sameRow, titleWords } from "./words.js";

/** @import {Filter, Index, Route, Source} from "./types.js" */
/** @import {Choice} from "./filter.js" */

const SELECTS = /** @type {const} */ (["model", "metric", "verdict", "variant", "error", "label"]);
/** @typedef {typeof SELECTS[number]} SelectName */
// The filters whose value in an address may be missing in the report.
const UNKNOWN = /** @type {const} */ (["model", "metric", "variant"]);
/** @type {Record<SelectName, string>} */
const SELECT_TITLES = { model: "Model", metric: "Metric", verdict: "Verdict", variant: "Variant", error: "Problem", label: "Label" };

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
    /** Rows that contain the searched text; null without a search. @type {Set<number> | null} */
    this.found = null;
    this.searched = "";
    this.search = new AbortController();
    /** Number of the row that was viewed last, or -1. */
    this.current = -1;
    this.scrolled = 0;
    /** The timer that delays the search while the reader types. */
    this.typing = 0;
    /** @type {Map<SelectName, HTMLSelectElement>} */
    this.selects = new Map();
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
    this.metricTitle = el("span", {}, SELECT_TITLES.metric);
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
      const select = el("select", { id: `filter-${name}` });
      select.addEventListener("change", () => this.change({ ...this.filter, [name]: select.value }, false));
      this.selects.set(name, select);
      const title = name === "metric" ? this.metricTitle : el("span", {}, SELECT_TITLES[name]);
      return el("label", { class: `filter-${name}`, for: `filter-${name}` }, title, select);
    });
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
      el("label", { class: "filter-text", for: "filter-text" }, el("span", {}, "Search"), this.text),
      fields,
      this.clear,
    );
    form.addEventListener("submit", (event) => event.preventDefault());
    const filters = el("details", { class: "filter-box", open: !matchMedia("(max-width: 40rem)").matches }, el("summary", {}, "Filters"), form);
    byId("rows").replaceChildren(
      el("h2", {}, "Rows"),
      filters,
      el("div", { class: "status" }, this.counter, this.working),
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
    this.metricTitle.textContent = titleWords(index).metric;
    for (const [name, select] of this.selects) this.offer(select, this.offered[name]);
    measureColumns(this.table.table, index);
    const held = index.rows.length;
    this.note.hidden = held >= index.total_rows;
    if (held === 0) this.note.replaceChildren(`This page holds none of the ${count(index.total_rows)} rows: it was made with `, el("code", {}, "--rows none"), ".");
    else this.note.replaceChildren(`This page holds ${count(held)} of ${counted(index.total_rows, "row")}, those with something to look at: `, el("code", {}, "--rows all"), " keeps all.");
    this.searched = "";
    if (this.filter.text) this.startSearch();
    this.fill();
  }

  /**
   * Writes the choices of a filter. Unchanged choices are not written again, so that an open list stays open during a run.
   * @param {HTMLSelectElement} select
   * @param {Choice[]} offered
   */
  offer(select, offered) {
    const before = [...select.options].map((option) => `${option.value}\n${option.text}`);
    const options = [{ value: "", text: "all" }, ...offered].map((choice) => el("option", { value: choice.value }, visible(choice.text)));
    if (options.length !== before.length || options.some((option, place) => `${option.value}\n${option.text}` !== before[place])) select.replaceChildren(...options);
  }

  /**
   * Shows the rows of a filter.
   * @param {Filter} filter
   */
  show(filter) {
    const same = Object.entries(filter).every(([key, value]) => this.filter[/** @type {keyof Filter} */ (key)] === value);
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
    for (const [name, select] of this.selects) this.setSelect(name, select);
    this.sayUnknown();
    this.clear.hidden = !Object.entries(this.filter).some(([key, value]) => key !== "sort" && value);
    const { found } = this;
    const numbers = matching(index, this.filter).filter((number) => !found || found.has(number));
    this.table.setColumns(rowColumns(index), this.filter.sort);
    this.table.setRows(sorted(index, numbers, this.filter.sort), this.current);
    this.counter.textContent = this.countWords(index, numbers);
  }

  /**
   * Sets a filter's field to the value in the address. A value that no row has is still shown, with no rows.
   * @param {SelectName} name
   * @param {HTMLSelectElement} select
   */
  setSelect(name, select) {
    const wanted = this.filter[name];
    const offered = this.offered?.[name] ?? [];
    for (const option of [...select.options]) if (option.dataset["asked"] && option.value !== wanted) option.remove();
    if (wanted && ![...select.options].some((option) => option.value === wanted)) select.append(el("option", { value: wanted, "data-asked": "1" }, visible(wanted)));
    select.value = wanted;
    // A filter without a real choice is hidden.
    const least = name === "model" || name === "metric" ? 2 : 1;
    if (select.parentElement) select.parentElement.hidden = !wanted && offered.length < least;
  }

  /** Shows a note on each model, metric or variant in the address that the report does not have. */
  sayUnknown() {
    const known = (/** @type {typeof UNKNOWN[number]} */ name) =>
      name === "metric" ? this.index?.metrics.some((metric) => isMetric(metric, this.filter.metric)) : this.offered?.[name].some((choice) => choice.value === this.filter[name]);
    const unknown = UNKNOWN.filter((name) => this.filter[name] && !known(name));
    this.unknown.hidden = unknown.length === 0;
    const told = unknown.map((name) => el("p", {}, `This report has no ${name} `, el("code", {}, visible(this.filter[name])), "."));
    this.unknown.replaceChildren(...told, waysOut());
  }

  /**
   * @param {Index} index
   * @param {number[]} numbers
   * @returns {string}
   */
  countWords(index, numbers) {
    const of = numbers.length === index.rows.length ? counted(numbers.length, "row") : `${count(numbers.length)} of ${counted(index.rows.length, "row")}`;
    const tally = { pass: 0, fail: 0, none: 0 };
    for (const number of numbers) tally[index.rows[number]?.verdict ?? "none"] += 1;
    const parts = [`${count(tally.fail)} fail`, `${count(tally.pass)} pass`, `${count(tally.none)} without a verdict`];
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
    this.found = new Set();
    this.working.hidden = false;
    let shown = performance.now();
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
      this.progress.max = chunks;
      this.progress.value = done;
      if (performance.now() - shown < 200) return;
      shown = performance.now();
      this.fill();
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
    location.hash = rowAddress(this.index, row);
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
