// The page to label rows by hand: one row at a time, in the order that the statistics need, with the judge's verdict hidden.
import { button, byId, download, el, keyButton, waysOut } from "./dom.js";
import { setKeys } from "./keys.js";
import { lastAnswer, question, thinnedBenchmarks, whyNoLabels } from "./question.js";
import { emptyFilter, writeRoute } from "./router.js";
import { conversationOf } from "./source.js";
import { count, counted, visible } from "./text.js";
import { setting, transcript } from "./transcript.js";
import { sameRow } from "./words.js";

/** @import {Conv, HumanLabel, Index, Row, Route, Source} from "./types.js" */
/** @import {Answer} from "./question.js" */
/** @import {LabelStore} from "./labels.js" */

/** The page to label rows. */
export class LabelPage {
  /**
   * @param {Source} source
   * @param {LabelStore} store
   * @param {(route: Route, replace: boolean) => void} go
   */
  constructor(source, store, go) {
    this.source = source;
    this.store = store;
    this.go = go;
    /** @type {Index | null} */
    this.index = null;
    this.run = "";
    this.showVerdicts = document.documentElement.dataset["showVerdicts"] === "1";
    /** @type {Answer[]} */
    this.answers = [];
    /** Numbers of the rows that the person skipped. @type {Set<number>} */
    this.skipped = new Set();
    /** Number of the shown row, or -1. */
    this.current = -1;
    /** Number of the row that the page has drawn, or -1. */
    this.drawn = -1;
    this.counter = el("p", { class: "count", role: "status" });
    this.left = 0;
    this.message = "";
    this.note = el("textarea", { id: "label-note", rows: "1", placeholder: "a note, optional", autocomplete: "off" });
    this.note.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.note.blur();
    });
  }

  /**
   * Sets a new index. The shown row and the text that the person is writing are kept.
   * @param {Index} index
   */
  setIndex(index) {
    const before = this.index;
    // Row numbers are valid in one index only.
    if (before) {
      this.current = sameRow(before, this.current, index);
      this.drawn = sameRow(before, this.drawn, index);
      this.answers = this.answers.map((answer) => ({ ...answer, number: sameRow(before, answer.number, index) }));
      this.skipped = new Set([...this.skipped].map((number) => sameRow(before, number, index)));
    }
    this.index = index;
    if (!byId("label").hidden && this.run) void (this.drawn >= 0 && this.drawn === this.current ? this.recount() : this.refresh());
  }

  /** Runs with rows to label. */
  runs() {
    return (this.index?.runs ?? []).filter((run) => (run.label_order?.length ?? 0) > 0);
  }

  /** Whether people can label rows here, or elsewhere according to this page. */
  offered() {
    return this.runs().length > 0 || (this.index !== null && thinnedBenchmarks(this.index).length > 0);
  }

  /**
   * Shows the next row of a run to label.
   * @param {string} model The id of the run; empty for the first run.
   */
  async show(model) {
    const runs = this.runs();
    const place = byId("label");
    setKeys([]);
    if (!this.index || runs.length === 0) {
      place.replaceChildren(el("h2", { tabindex: "-1" }, "Label rows"), ...(this.index ? whyNoLabels(this.index) : []));
      return;
    }
    if (model && !runs.some((run) => run.id === model)) {
      place.replaceChildren(el("h2", { tabindex: "-1" }, "Label rows"), el("p", {}, "This report has no rows to label of ", el("code", {}, visible(model)), "."), waysOut());
      return;
    }
    this.run = runs.find((run) => run.id === model)?.id ?? runs[0]?.id ?? "";
    if (!this.store.labeller) {
      this.askName(place);
      return;
    }
    this.current = -1;
    await this.refresh();
    place.querySelector("h2")?.focus({ preventScroll: true });
  }

  /**
   * Asks for the name of the person who labels.
   * @param {HTMLElement} place
   */
  askName(place) {
    const name = el("input", { id: "labeller", required: true, autocomplete: "off", maxlength: "80" });
    name.value = this.store.labeller;
    const form = el(
      "form",
      { class: "who" },
      el("label", { for: "labeller" }, el("span", {}, "Your name or initials"), name),
      el("p", { class: "muted" }, "The name is saved with each of your labels. Use the same name every time."),
      el("button", { type: "submit", class: "primary" }, "Start"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!name.value.trim()) return;
      this.store.setLabeller(name.value.trim());
      void this.show(this.run);
    });
    place.replaceChildren(el("h2", { tabindex: "-1" }, "Label rows"), form);
    name.focus();
  }

  /** Reads the labels, and shows the next row. */
  async refresh() {
    const index = this.index;
    if (!index || !this.run) return;
    try {
      // A page in a file loads the answers of all runs, because the answers of a benchmark are downloaded as one file.
      const runs = this.source.live ? [this.run] : this.runs().map((run) => run.id);
      for (const run of runs) this.left += await this.store.load(index, run);
      if (this.current < 0) this.current = this.next();
      const row = index.rows[this.current];
      this.draw(index, row, row && (await conversationOf(this.source, row)));
    } catch (error) {
      this.message = error instanceof Error ? error.message : String(error);
      this.draw(index, undefined, undefined);
    }
  }

  /** Updates the counts. The shown row and the person's text stay unchanged. */
  async recount() {
    if (!this.index) return;
    try {
      await this.store.load(this.index, this.run);
    } catch {
      // The viewer does not answer. The top of the page already says so.
    }
    this.counter.textContent = this.progressWords();
  }

  /** @returns {number[]} */
  order() {
    return this.index?.runs.find((run) => run.id === this.run)?.label_order ?? [];
  }

  /**
   * Whether this person has answered a row.
   * @param {number} number
   */
  answered(number) {
    const row = this.index?.rows[number];
    const metric = this.index?.metrics[row?.metric ?? -1];
    return row !== undefined && metric !== undefined && this.store.mine(this.run, row.conv_id, metric.id) !== undefined;
  }

  /** The row to answer next: the first open row in the order, with skipped rows last. */
  next() {
    const open = this.order().filter((number) => this.index?.rows[number]?.chunk !== undefined && !this.answered(number));
    return open.find((number) => !this.skipped.has(number)) ?? open[0] ?? -1;
  }

  /**
   * The answered rows, the open rows, and how wide the interval of the corrected rate is.
   * @returns {string}
   */
  progressWords() {
    const order = this.order();
    const done = order.filter((number) => this.answered(number)).length;
    return `${count(done)} answered, ${counted(order.length - done, "row")} left${this.widthWords()}`;
  }

  /**
   * How wide the interval of the corrected rate is, by the labels in files. In the viewer these are all labels. The rate itself is not shown
   * to a person who labels.
   * @returns {string}
   */
  widthWords() {
    const run = this.index?.runs.find((of) => of.id === this.run);
    if (!run) return "";
    const points = (/** @type {number} */ width) => (100 * width).toFixed(1);
    if (run.corrected_width === undefined) {
      return this.source.live ? "; the corrected rate is not known until rows of both verdicts are labelled" : "";
    }
    const judge = run.judge_width === undefined ? "" : ` (the judge's own: ${points(run.judge_width)})`;
    const labels = this.source.live ? "" : "with the labels in files, ";
    return `; ${labels}95% interval of the corrected rate: ${points(run.corrected_width)} points wide${judge}`;
  }

  /**
   * @param {Index} index
   * @param {Row | undefined} row
   * @param {Conv | undefined} conv
   */
  draw(index, row, conv) {
    this.drawn = row && conv ? this.current : -1;
    this.counter.textContent = this.progressWords();
    const metric = row && index.metrics[row.metric];
    /** @type {HTMLElement[]} */
    const parts = [
      el("div", { class: "label-head" }, el("h2", { tabindex: "-1" }, "Label rows"), this.runChoice(), this.person(), this.verdictSwitch()),
      this.counter,
    ];
    if (this.left) parts.push(el("p", { class: "note" }, `${counted(this.left, "answer")} of an earlier run left out: the conversations have changed.`));
    if (this.message) parts.push(el("p", { class: "note error", role: "alert" }, visible(this.message)));
    parts.push(this.bar(row !== undefined && conv !== undefined));
    const last = this.answers.at(-1);
    const answered = last ? lastAnswer(index, last, () => void this.undo()) : null;
    if (row && conv && metric) {
      const said = el("section", { class: "said", "aria-label": "Transcript" }, setting(conv), transcript(conv, new Map(), { blind: !this.showVerdicts }));
      parts.push(el("div", { class: "conversation labelling" }, el("div", { class: "beside" }, answered, question(index, metric, this.showVerdicts ? row : null)), said));
    } else {
      if (answered) parts.push(answered);
      if (!this.message) parts.push(el("p", { class: "note" }, `All rows of ${visible(this.run)} are answered.`));
    }
    if (!this.source.live) parts.push(this.saving());
    byId("label").replaceChildren(...parts);
    setKeys(this.keys(row !== undefined));
  }

  /** @returns {HTMLElement | null} */
  runChoice() {
    const runs = this.runs();
    const select = el("select", { id: "label-run" }, runs.map((run) => el("option", { value: run.id }, visible(run.id))));
    select.value = this.run;
    select.addEventListener("change", () => this.go({ page: "label", model: select.value }, false));
    return el("label", { for: "label-run", hidden: runs.length < 2 }, el("span", {}, "Model"), select);
  }

  /** @returns {HTMLElement} */
  person() {
    const change = button("change", () => this.askName(byId("label")), { "aria-label": "change who labels" });
    return el("p", { class: "labeller" }, "labelled by ", el("b", { dir: "auto" }, visible(this.store.labeller)), " ", change);
  }

  /** @returns {HTMLElement} */
  verdictSwitch() {
    const box = el("input", { type: "checkbox", id: "show-verdicts" });
    box.checked = this.showVerdicts;
    box.addEventListener("change", () => {
      this.showVerdicts = box.checked;
      void this.refresh();
    });
    return el("label", { for: "show-verdicts", class: "switch" }, box, " show the judge's verdict before the answer");
  }

  /**
   * The bar that stays in view: the answers, and the download in a page that is a file.
   * @param {boolean} open Whether there is a row to answer.
   * @returns {HTMLElement}
   */
  bar(open) {
    const bar = el("div", { class: "controls" });
    if (open) {
      bar.append(
        keyButton("Pass", "p", () => void this.answer(true), { class: "answer answer-pass" }),
        keyButton("Fail", "f", () => void this.answer(false), { class: "answer answer-fail" }),
        keyButton("Unclear", "u", () => void this.answer(null), { class: "answer" }),
        keyButton("Skip", "s", () => void this.skip(), { class: "answer answer-skip" }),
        el("label", { for: "label-note" }, el("span", {}, "Note", el("span", { class: "key" }, " (n)")), this.note),
      );
    }
    if (!this.source.live) bar.append(this.downloading());
    return bar;
  }

  /** The runs whose labels go into one file: the runs of the benchmark. */
  together() {
    const all = this.index?.runs ?? [];
    const benchmark = all.find((run) => run.id === this.run)?.benchmark ?? "";
    return { benchmark, runs: all.filter((run) => run.benchmark === benchmark).map((run) => run.id) };
  }

  /** @returns {HTMLElement} */
  downloading() {
    const { runs } = this.together();
    const labels = this.store.given(runs);
    const fresh = this.store.fresh(runs);
    const save = button("Download labels.json", () => {
      download("labels.json", `${JSON.stringify(labels, null, 2)}\n`);
      this.store.downloaded(runs);
      save.classList.remove("primary");
      told.textContent = this.downloadWords();
    }, { disabled: labels.length === 0, class: fresh > 0 ? "primary" : "" });
    const told = el("small", { class: "muted", role: "status" }, this.downloadWords());
    return el("div", { class: "download" }, save, told);
  }

  /** @returns {string} */
  downloadWords() {
    const { runs } = this.together();
    const fresh = this.store.fresh(runs);
    if (fresh > 0) return `${counted(fresh, "answer")} not downloaded yet`;
    return this.store.given(runs).length > 0 ? "all answers downloaded" : "no answers yet";
  }

  /** Instructions to import the answers from a page that is a file. */
  saving() {
    const command = `${this.index?.program ?? "probity"} label ${this.together().benchmark} --import labels.json`;
    return el("p", { class: "saving" }, "Answers are kept in this page until ", el("code", {}, visible(command)), " brings them to the others.");
  }

  /**
   * Saves an answer and goes on.
   * @param {boolean | null} passed
   */
  async answer(passed) {
    const index = this.index;
    const number = this.current;
    const row = index?.rows[number];
    const metric = row && index?.metrics[row.metric];
    if (!index || !row || !metric) return;
    const conv = await conversationOf(this.source, row);
    const note = this.note.value.trim();
    /** @type {HumanLabel} */
    const label = { conv_id: row.conv_id, metric_id: metric.id, passed, labeller: this.store.labeller };
    if (note) label.note = note;
    if (conv?.transcript) label._transcript = conv.transcript;
    const before = this.store.mine(this.run, row.conv_id, metric.id);
    try {
      await this.store.put(this.run, label);
      this.answers.push({ run: this.run, number, label, before, conv });
      this.message = "";
      this.note.value = "";
      this.current = this.next();
    } catch (error) {
      this.message = `not saved: ${error instanceof Error ? error.message : String(error)}`;
    }
    await this.redraw();
  }

  /** Undoes the last answer, and shows its row again. */
  async undo() {
    const last = this.answers.pop();
    if (!last) return;
    try {
      if (last.before) await this.store.put(last.run, last.before);
      else await this.store.remove(last.run, last.label);
      this.message = "";
      this.current = last.number;
      this.note.value = last.label.note ?? "";
    } catch (error) {
      this.answers.push(last);
      this.message = `not undone: ${error instanceof Error ? error.message : String(error)}`;
    }
    await this.redraw();
  }

  /** Skips the row until the others are answered. */
  async skip() {
    if (this.current < 0) return;
    this.skipped.delete(this.current);
    this.skipped.add(this.current);
    this.current = this.next();
    await this.redraw();
  }

  /** Draws the current row, from its top. */
  async redraw() {
    const row = this.index?.rows[this.current];
    if (this.index) this.draw(this.index, row, row && (await conversationOf(this.source, row)));
    window.scrollTo(0, 0);
    byId("label").querySelector("h2")?.focus({ preventScroll: true });
  }

  /**
   * @param {boolean} open Whether there is a row to answer.
   * @returns {import("./types.js").Key[]}
   */
  keys(open) {
    const undo = { key: "z", does: "take the last answer back", run: () => void this.undo() };
    if (!open) return [undo];
    return [
      { key: "p", does: "pass", run: () => void this.answer(true) },
      { key: "f", does: "fail", run: () => void this.answer(false) },
      { key: "u", does: "unclear", run: () => void this.answer(null) },
      { key: "n", does: "write a note; Esc leaves it", run: () => this.note.focus() },
      { key: "s", does: "skip for now", run: () => void this.skip() },
      undo,
      { key: "Escape", does: "back to the rows", run: () => this.go({ page: "rows", filter: emptyFilter({ model: [this.run] }) }, false) },
    ];
  }

  /** The address of this page. */
  address() {
    return writeRoute({ page: "label", model: this.run });
  }
}
