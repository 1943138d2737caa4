// A person's own label of the shown row, beside its verdict: only where the viewer saves it.
import { el, keyButton, say } from "./dom.js";
import { writeRoute } from "./router.js";
import { visible } from "./text.js";

/** @import {Conv, HumanLabel, Index, Key, Row, Source} from "./types.js" */
/** @import {LabelStore} from "./labels.js" */

/**
 * What a person may say of a row, with its key.
 * @type {{passed: boolean | null, word: string, key: string}[]}
 */
const OWN_ANSWERS = [
  { passed: true, word: "Pass", key: "p" },
  { passed: false, word: "Fail", key: "f" },
  { passed: null, word: "Unclear", key: "u" },
];

/**
 * A row that can be labelled.
 * @typedef {object} Labelled
 * @property {string} run
 * @property {string} metric
 * @property {Row} row
 * @property {Conv} conv
 */

/** The buttons of a person's own label. */
export class OwnLabel {
  /**
   * @param {Source} source
   * @param {LabelStore} store
   * @param {() => void} next Goes to the next row.
   */
  constructor(source, store, next) {
    this.source = source;
    this.store = store;
    this.next = next;
    /** @type {Labelled | null} */
    this.of = null;
    this.element = el("div", { class: "own-label" });
  }

  /**
   * The buttons for a row; null where no label of it can be saved.
   * @param {Index} index
   * @param {Row} row
   * @param {Conv} conv
   * @returns {HTMLElement | null}
   */
  show(index, row, conv) {
    const run = index.runs[row.run];
    const metric = index.metrics[row.metric];
    const isJudged = conv.scores.some((score) => score.metric === row.metric);
    if (!this.source.live || !run || !metric || run.kind === "safety" || !isJudged) {
      this.of = null;
      return null;
    }
    const of = { run: run.id, metric: metric.id, row, conv };
    this.of = of;
    this.draw();
    void this.store.load(index, run.id).then(() => this.of === of && this.draw(), () => {});
    return this.element;
  }

  /** Writes the buttons, or the field for the person's name. */
  draw() {
    const { of, store } = this;
    if (!of) return;
    const blind = el("a", { href: writeRoute({ page: "label", model: of.run }) }, "Label rows");
    const note = el("p", { class: "muted" }, "You see the verdict. To check the judge, label with it hidden: ", blind, ".");
    if (!store.labeller) {
      this.element.replaceChildren(this.nameForm(), note);
      return;
    }
    const mine = store.mine(of.run, of.row.conv_id, of.metric);
    const buttons = OWN_ANSWERS.map(({ passed, word, key }) => keyButton(word, key, () => void this.answer(passed), { "aria-pressed": String(mine !== undefined && mine.passed === passed) }));
    this.element.replaceChildren(el("div", { class: "own-buttons", role: "group", "aria-label": "Your label" }, buttons), note);
  }

  /** @returns {HTMLElement} */
  nameForm() {
    const name = el("input", { id: "own-labeller", required: true, autocomplete: "off", maxlength: "80", size: "12" });
    const form = el("form", { class: "own-name" }, el("label", { for: "own-labeller" }, el("span", {}, "To label, your name or initials"), name), el("button", { type: "submit" }, "Start"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!name.value.trim()) return;
      this.store.setLabeller(name.value.trim());
      name.blur();
      this.draw();
    });
    return form;
  }

  /**
   * Saves a label, and goes to the next row.
   * @param {boolean | null} passed
   */
  async answer(passed) {
    const { of } = this;
    if (!of) return;
    if (!this.store.labeller) {
      document.getElementById("own-labeller")?.focus();
      return;
    }
    const before = this.store.mine(of.run, of.row.conv_id, of.metric);
    /** @type {HumanLabel} */
    const label = { conv_id: of.row.conv_id, metric_id: of.metric, passed, labeller: this.store.labeller };
    if (before?.note) label.note = before.note;
    if (of.conv.transcript) label._transcript = of.conv.transcript;
    try {
      await this.store.put(of.run, label);
      if (this.of === of) this.next();
    } catch (error) {
      say(`not saved: ${visible(error instanceof Error ? error.message : String(error))}`);
    }
  }

  /**
   * The keys of the buttons; none where there are no buttons.
   * @returns {Key[]}
   */
  keys() {
    if (!this.source.live) return [];
    return OWN_ANSWERS.map(({ passed, word, key }) => ({ key, does: `your label: ${word.toLowerCase()}, and the next row`, run: () => void this.answer(passed) }));
  }
}
