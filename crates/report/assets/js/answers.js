// The answers of one turn of a scenario side by side: of all models, or of two of them with the words that differ.
import { wordDiff } from "./diff.js";
import { button, el } from "./dom.js";
import { proseBlock } from "./prose.js";
import { markQuotes } from "./quotes.js";
import { conversationOf } from "./source.js";
import { textBlock, textNodes, visible } from "./text.js";
import { verdictMark } from "./words.js";

/** @import {Conv, Row, Source} from "./types.js" */

/**
 * A column of answers: a model, or a variant of one model.
 * @typedef {object} AnswerColumn
 * @property {string} name
 * @property {Row | undefined} row
 */

/**
 * @typedef {{row: Row | undefined, conv: Conv | undefined, name: string}} Answered
 */

// The most columns whose answers are shown side by side.
const MOST_ANSWERS = 12;

/**
 * Two texts with the words that only one has, if they share at least half of their words; otherwise null.
 * @param {string} first
 * @param {string} second
 * @returns {[HTMLElement, HTMLElement] | null}
 */
function alike(first, second) {
  const pieces = wordDiff(first, second);
  if (!pieces) return null;
  const length = { same: 0, a: 0, b: 0 };
  for (const piece of pieces) length[piece.in] += (piece.in === "b" ? piece.b : piece.a).split(/\s+/).filter(Boolean).length;
  if (length.same * 4 < 2 * length.same + length.a + length.b) return null;
  const left = el("div", { class: "text", dir: "auto" });
  const right = el("div", { class: "text", dir: "auto" });
  for (const piece of pieces) {
    if (piece.in !== "b") left.append(el(piece.in === "a" ? "del" : "span", {}, textNodes(piece.a)));
    if (piece.in !== "a") right.append(el(piece.in === "b" ? "ins" : "span", {}, textNodes(piece.b)));
  }
  return [left, right];
}

/**
 * What one role said in a turn.
 * @param {Conv | undefined} conv
 * @param {string} role
 * @param {number} turn
 */
function saidIn(conv, role, turn) {
  return (conv?.messages ?? []).flatMap((message, place) => (message.role === role && message.turn === turn ? [{ message, place }] : []));
}

/** The answers of one turn. */
export class Answers {
  /**
   * @param {Source} source
   * @param {(names: string[]) => void} choose Called with the names of the two columns to compare; with none, to show all.
   */
  constructor(source, choose) {
    this.source = source;
    this.choose = choose;
    /** The shown turn; 0 before one is chosen. */
    this.turn = 0;
    this.shown = 0;
    /** @type {{title: string, columns: AnswerColumn[], pair: string[]}} */
    this.of = { title: "", columns: [], pair: [] };
    this.element = el("section", { class: "answers", "aria-label": "Answers" });
  }

  /**
   * Shows the answers of columns.
   * @param {string} title What the columns have in common; may be empty.
   * @param {AnswerColumn[]} columns
   * @param {string[]} pair The names of two columns; empty for all.
   */
  async show(title, columns, pair) {
    this.of = { title, columns, pair };
    await this.draw();
  }

  /** @param {number} turn */
  setTurn(turn) {
    this.turn = turn;
    void this.draw();
  }

  /** The columns to show: the chosen pair, or all that fit. @returns {AnswerColumn[]} */
  chosen() {
    const { columns, pair } = this.of;
    const two = pair.flatMap((name) => columns.find((column) => column.name === name) ?? []);
    return two.length === 2 ? two : columns.slice(0, MOST_ANSWERS);
  }

  /** Draws the answers of the shown turn. */
  async draw() {
    this.shown += 1;
    const { shown } = this;
    const chosen = this.chosen();
    const convs = await Promise.all(chosen.map(({ row }) => (row ? conversationOf(this.source, row) : undefined)));
    if (shown !== this.shown) return;
    const turns = [...new Set(convs.flatMap((conv) => (conv?.messages ?? []).map((message) => message.turn)))].sort((a, b) => a - b);
    if (turns.length === 0) {
      this.element.replaceChildren();
      return;
    }
    if (!turns.includes(this.turn)) this.turn = turns.at(-1) ?? 1;
    const buttons = turns.map((turn) => button(String(turn), () => this.setTurn(turn), { "aria-pressed": String(turn === this.turn), "aria-label": `Turn ${turn}` }));
    const { cells, note, user } = this.cells(chosen.map((column, at) => ({ ...column, conv: convs[at] })).filter(({ conv }) => conv !== undefined));
    const focused = this.element.contains(document.activeElement) ? document.activeElement?.id : "";
    const hidden = this.of.columns.length - chosen.length;
    const more = hidden > 0 && this.of.pair.length < 2 ? `the first ${chosen.length} of ${this.of.columns.length}` : "";
    this.element.replaceChildren(
      el(
        "div",
        { class: "answers-head" },
        el("div", {}, el("h3", {}, `Turn ${this.turn}`), el("p", { class: "muted" }, [this.of.title && visible(this.of.title), note, more].filter(Boolean).join(". "))),
        el("div", { class: "answer-tools" }, this.choice(), el("div", { class: "turns", role: "group", "aria-label": "Turn" }, buttons)),
      ),
      ...(user ? [user] : []),
      el("div", { class: "matrix-scroll", tabindex: "0", role: "region", "aria-label": "Answers side by side" }, el("div", { class: "answer-grid" }, cells)),
    );
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  /** Two lists to choose whose answers are compared. @returns {HTMLElement | null} */
  choice() {
    const { columns, pair } = this.of;
    if (columns.length < 3) return null;
    const names = columns.map((column) => column.name);
    const [first = "", second = ""] = pair;
    /** @param {string} id @param {string} label @param {string} value @param {string} none */
    const list = (id, label, value, none) => {
      const select = el("select", { id, "aria-label": label }, el("option", { value: "" }, none), names.map((name) => el("option", { value: name }, visible(name))));
      select.value = value;
      return select;
    };
    const one = list("answers-first", "Compare the answer of", first, "all answers");
    const other = list("answers-second", "with the answer of", second, "–");
    other.disabled = !first;
    one.addEventListener("change", () => this.choose(one.value === "" ? [] : [one.value, other.value && other.value !== one.value ? other.value : (names.find((name) => name !== one.value) ?? "")]));
    other.addEventListener("change", () => this.choose(other.value === "" || other.value === one.value ? [] : [one.value, other.value]));
    return el("div", { class: "pair" }, el("span", { class: "muted" }, "Compare"), one, el("span", { class: "muted" }, "with"), other);
  }

  /**
   * The answers of a turn, with the verdict at the head of each. Of two texts that are alike, different words are marked.
   * @param {Answered[]} columns
   * @returns {{cells: HTMLElement[], note: string, user: HTMLElement | null}}
   */
  cells(columns) {
    const users = columns.map(({ conv }) => saidIn(conv, "user", this.turn).map(({ message }) => message.text).join("\n\n"));
    const isSame = new Set(users).size === 1;
    const [a, b] = columns.map(({ conv }) => saidIn(conv, "assistant", this.turn).map(({ message }) => message.text).join("\n\n"));
    const differing = columns.length === 2 && a && b ? alike(a, b) : null;
    const cells = columns.map((column, x) => this.cell(column, isSame ? "" : users[x] || "(nothing)", differing?.[x] ?? null));
    const note = columns.length !== 2 ? "Whole answers, judges' quotes marked" : differing ? "Words that only one answer has are struck out and underlined" : "Whole answers: the texts share under half of their words, so that word differences are not shown";
    const user = isSame && users[0] ? el("div", { class: "answer-user shared" }, el("small", { class: "muted" }, columns.length === 1 ? "User" : columns.length === 2 ? "User, to both" : `User, to all ${columns.length}`), textBlock(users[0])) : null;
    return { cells, note, user };
  }

  /**
   * @param {Answered} column
   * @param {string} user What the user said, if it is not the same in all columns.
   * @param {HTMLElement | null} differing The answer with its words marked.
   * @returns {HTMLElement}
   */
  cell({ row, conv, name }, user, differing) {
    const marks = markQuotes(conv?.scores.find((score) => score.metric === row?.metric), conv?.messages ?? []).marks;
    // Ids of quotes belong to the page of the conversation.
    const plain = (/** @type {number} */ place) => (marks.get(place) ?? []).map((mark) => ({ ...mark, id: "", letter: "" }));
    const said = saidIn(conv, "assistant", this.turn);
    const answer = differing ? [differing] : said.map(({ message, place }) => (message.text.trim() ? proseBlock(message.text, plain(place)) : el("p", { class: "muted" }, "(nothing was said)")));
    return el(
      "article",
      { class: "answer-cell" },
      el("p", { class: "answer-name" }, el("span", { class: "name" }, visible(name)), " ", row ? verdictMark(row.verdict, row.shown) : null),
      user ? el("div", { class: "answer-user" }, el("small", { class: "muted" }, "User"), textBlock(user)) : null,
      answer.length > 0 ? answer : el("p", { class: "muted" }, "no answer in this turn"),
    );
  }
}
