// One scenario in all models: verdict and reason in each cell, and the answers of one turn side by side.
import { button, byId, el, waysOut } from "./dom.js";
import { wordDiff } from "./diff.js";
import { setKeys } from "./keys.js";
import { modelMark } from "./model_mark.js";
import { proseBlock } from "./prose.js";
import { markQuotes } from "./quotes.js";
import { rowAddress, writeRoute } from "./router.js";
import { conversationOf } from "./source.js";
import { counted, textBlock, textNodes, visible } from "./text.js";
import { metricWords } from "./verdict.js";
import { isMetric } from "./filter.js";
import { variantWords, verdictMark } from "./words.js";

/** @import {Conv, Index, Row, ScenarioRoute, Source} from "./types.js" */

/**
 * The table: the names above its columns, the names of its lines, and in each cell the number of a row or -1.
 * @typedef {object} Grid
 * @property {{name: string, target: string}[]} columns
 * @property {string[]} lines
 * @property {number[][]} cells
 */

// The most columns whose answers are shown side by side.
const MOST_ANSWERS = 12;

/**
 * The rows of a scenario by model, variant and sample. With one model, its variants and samples are the columns.
 * @param {Index} index
 * @param {number[]} numbers
 * @returns {Grid}
 */
function gridOf(index, numbers) {
  /** @param {number} number @returns {Row} */
  const at = (number) => /** @type {Row} */ (index.rows[number]);
  const samples = numbers.some((number) => at(number).sample > 0);
  /** @param {Row} row */
  const line = (row) => [variantWords(row.variant), samples && `sample ${row.sample}`].filter(Boolean).join(", ");
  const runs = [...new Set(numbers.map((number) => at(number).run))].sort((a, b) => a - b);
  const lines = [...new Set(numbers.map((number) => line(at(number))))];
  /** @param {number} run @param {string} name */
  const find = (run, name) => numbers.find((number) => at(number).run === run && line(at(number)) === name) ?? -1;
  /** @param {number} run */
  const named = (run) => ({ name: index.runs[run]?.id ?? "", target: index.runs[run]?.target ?? "" });
  const [only] = runs;
  if (runs.length === 1 && only !== undefined && lines.length > 1) {
    return { columns: lines.map((name) => ({ name, target: "" })), lines: [named(only).name], cells: [lines.map((name) => find(only, name))] };
  }
  return { columns: runs.map(named), lines, cells: lines.map((name) => runs.map((run) => find(run, name))) };
}

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

/** The page of one scenario. */
export class MatrixPage {
  /** @param {Source} source */
  constructor(source) {
    this.source = source;
    /** @type {Index | null} */
    this.index = null;
    /** @type {Grid} */
    this.grid = { columns: [], lines: [], cells: [] };
    /** The cell with the focus: line and column. */
    this.at = [0, 0];
    this.turn = 0;
    this.shown = 0;
    this.answers = el("section", { class: "answers", "aria-label": "Answers" });
  }

  /** @param {Index} index */
  setIndex(index) {
    this.index = index;
  }

  /**
   * The rows of a route: of its scenario, benchmark and metric.
   * @param {Index} index
   * @param {ScenarioRoute} route
   * @returns {number[]}
   */
  rowsOf(index, route) {
    const of = [...index.rows.keys()].filter((number) => {
      const row = index.rows[number];
      return row?.base === route.id && (!route.benchmark || index.runs[row.run]?.benchmark === route.benchmark);
    });
    const metrics = of.filter((number) => {
      const metric = index.metrics[index.rows[number]?.metric ?? -1];
      return !route.metric || (metric && isMetric(metric, route.metric));
    });
    const first = index.rows[metrics[0] ?? -1]?.metric;
    return metrics.filter((number) => index.rows[number]?.metric === first);
  }

  /**
   * Shows the scenario of a route.
   * @param {ScenarioRoute} route
   */
  show(route) {
    const { index } = this;
    if (!index) return;
    const place = byId("scenario");
    const numbers = this.rowsOf(index, route);
    const first = index.rows[numbers[0] ?? -1];
    if (!first) {
      place.replaceChildren(el("h2", { tabindex: "-1" }, "No such scenario"), el("p", {}, "This report has no rows of the scenario ", el("code", {}, visible(route.id)), "."), waysOut());
      return;
    }
    this.grid = gridOf(index, numbers);
    this.turn = 0;
    const asked = this.grid.cells.flatMap((line, y) => line.flatMap((number, x) => (number >= 0 && index.rows[number]?.conv_id === route.row && (!route.run || index.runs[index.rows[number]?.run ?? -1]?.id === route.run) ? [[y, x]] : [])));
    this.at = asked[0] ?? [Math.max(0, this.parting(index)), 0];
    place.replaceChildren(...this.head(index, route, first, numbers), this.table(index), this.answers);
    setKeys(this.keys(index, route));
    this.focus(0, 0, asked.length > 0);
    void this.drawAnswers();
  }

  /** The first line whose verdicts differ, or -1. @param {Index} index */
  parting(index) {
    return this.grid.cells.findIndex((line) => new Set(line.filter((number) => number >= 0).map((number) => index.rows[number]?.verdict)).size > 1);
  }

  /**
   * @param {Index} index
   * @param {ScenarioRoute} route
   * @param {Row} row
   * @param {number[]} numbers
   * @returns {HTMLElement[]}
   */
  head(index, route, row, numbers) {
    const fails = numbers.filter((number) => index.rows[number]?.verdict === "fail").length;
    const metric = index.metrics[row.metric];
    const order = this.scenarios(index, row);
    const place = order.indexOf(row.base);
    return [
      el(
        "nav",
        { class: "steps", "aria-label": "Scenarios" },
        el("a", { href: writeRoute({ page: "rows", filter: { model: [], metric: metric ? [metric.id] : [], verdict: [], variant: [], error: [], label: [], text: "", sort: "models" } }), class: "back" }, "Rows of the metric"),
        button("Previous", () => this.step(index, route, row, -1), { disabled: place <= 0 }),
        el("span", {}, `${place + 1} of ${order.length}`),
        button("Next", () => this.step(index, route, row, 1), { disabled: place >= order.length - 1 }),
      ),
      el("h2", { tabindex: "-1", dir: "auto" }, visible(row.title ?? row.base)),
      el("p", {}, el("b", {}, fails === 0 ? `None of ${counted(numbers.length, "row")} fails.` : `${fails} of ${counted(numbers.length, "row")} ${fails === 1 ? "fails" : "fail"}.`), " ", el("span", { class: "muted" }, visible(row.base))),
      metric ? metricWords(index, metric) : el("p"),
    ];
  }

  /**
   * The scenarios of a row's metric, in the order of the rows.
   * @param {Index} index
   * @param {Row} row
   * @returns {string[]}
   */
  scenarios(index, row) {
    return [...new Set(index.rows.filter((one) => one.metric === row.metric).map((one) => one.base))];
  }

  /**
   * @param {Index} index
   * @param {ScenarioRoute} route
   * @param {Row} row
   * @param {number} by
   */
  step(index, route, row, by) {
    const order = this.scenarios(index, row);
    const next = order[order.indexOf(row.base) + by];
    if (next !== undefined) location.replace(writeRoute({ ...route, id: next, metric: index.metrics[row.metric]?.id ?? "", row: "", run: "" }));
  }

  /**
   * @param {Index} index
   * @returns {HTMLElement}
   */
  table(index) {
    const { columns, lines, cells } = this.grid;
    const head = el("tr", {}, el("td"), columns.map(({ name, target }) => el("th", { scope: "col" }, target && modelMark(target), visible(name))));
    const body = cells.map((line, y) =>
      el("tr", {}, el("th", { scope: "row" }, visible(lines[y] ?? "")), line.map((number, x) => el("td", {}, this.cell(index, number, y, x)))),
    );
    const table = el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, body));
    table.classList.toggle("wide", columns.length > 5);
    return el("div", { class: "matrix-scroll", role: "region", "aria-label": "The scenario in all models" }, table);
  }

  /**
   * @param {Index} index
   * @param {number} number
   * @param {number} y
   * @param {number} x
   * @returns {HTMLElement}
   */
  cell(index, number, y, x) {
    const row = index.rows[number];
    if (!row) return el("span", { class: "muted empty-cell" }, "no row");
    const [passed, failed] = row.votes ?? [0, 0];
    const votes = row.votes && row.verdict !== "none" ? `${row.verdict === "pass" ? passed : failed} of ${passed + failed}` : "";
    const cell = el(
      "a",
      { class: `cell ${row.verdict}-cell`, href: rowAddress(index, row), tabindex: "-1", "data-cell": `${y},${x}` },
      el("span", { class: "cell-model" }, visible(this.grid.columns[x]?.name ?? "")),
      el("span", { class: "cell-verdict" }, verdictMark(row.verdict, row.shown), votes && el("small", {}, votes)),
      el("span", { class: "cell-reason", dir: "auto" }, textNodes(row.said ?? row.error ?? "")),
    );
    cell.addEventListener("focus", () => {
      const before = this.at[0];
      this.at = [y, x];
      if (before !== y) void this.drawAnswers();
    });
    return cell;
  }

  /**
   * Moves to a cell: one tab stop for the whole table.
   * @param {number} down
   * @param {number} right
   * @param {boolean} [focus]
   */
  focus(down, right, focus = true) {
    const [y = 0, x = 0] = this.at;
    const to = [Math.max(0, Math.min(this.grid.lines.length - 1, y + down)), Math.max(0, Math.min(this.grid.columns.length - 1, x + right))];
    const all = byId("scenario").querySelectorAll("a.cell");
    const cell = byId("scenario").querySelector(`a.cell[data-cell="${to.join(",")}"]`) ?? (down || right ? null : all[0]);
    if (!(cell instanceof HTMLElement)) return;
    for (const other of all) other.setAttribute("tabindex", "-1");
    cell.setAttribute("tabindex", "0");
    if (focus) cell.focus();
  }

  /** Draws the answers of the shown turn, of the line with the focus. */
  async drawAnswers() {
    const { index, grid } = this;
    if (!index) return;
    this.shown += 1;
    const { shown } = this;
    const line = grid.cells[this.at[0] ?? 0] ?? [];
    const rows = line.slice(0, MOST_ANSWERS).map((number) => index.rows[number]);
    const convs = await Promise.all(rows.map((row) => (row ? conversationOf(this.source, row) : undefined)));
    if (shown !== this.shown) return;
    const turns = [...new Set(convs.flatMap((conv) => (conv?.messages ?? []).map((message) => message.turn)))].sort((a, b) => a - b);
    if (turns.length === 0) {
      this.answers.replaceChildren();
      return;
    }
    if (!turns.includes(this.turn)) this.turn = turns.at(-1) ?? 1;
    const buttons = turns.map((turn) => button(String(turn), () => this.setTurn(turn), { "aria-pressed": String(turn === this.turn), "aria-label": `Turn ${turn}` }));
    const columns = rows.map((row, x) => ({ row, conv: convs[x], name: grid.columns[x]?.name ?? "" })).filter(({ conv }) => conv !== undefined);
    const { cells, note, user } = this.answerCells(columns);
    const lineName = grid.lines[this.at[0] ?? 0] ?? "";
    this.answers.replaceChildren(
      el("div", { class: "answers-head" }, el("div", {}, el("h3", {}, `Turn ${this.turn}`), el("p", { class: "muted" }, [lineName && visible(lineName), note].filter(Boolean).join(". "))), el("div", { class: "turns", role: "group", "aria-label": "Turn" }, buttons)),
      ...(user ? [user] : []),
      el("div", { class: "matrix-scroll", tabindex: "0", role: "region", "aria-label": "Answers side by side" }, el("div", { class: "answer-grid" }, cells)),
    );
  }

  /** @param {number} turn */
  setTurn(turn) {
    this.turn = turn;
    void this.drawAnswers();
  }

  /**
   * The answers of a turn, with the verdict at the head of each. Of two texts that are alike, different words are marked.
   * @param {{row: Row | undefined, conv: Conv | undefined, name: string}[]} columns
   * @returns {{cells: HTMLElement[], note: string, user: HTMLElement | null}}
   */
  answerCells(columns) {
    const users = columns.map(({ conv }) => saidIn(conv, "user", this.turn).map(({ message }) => message.text).join("\n\n"));
    const isSame = new Set(users).size === 1;
    const [a, b] = columns.map(({ conv }) => saidIn(conv, "assistant", this.turn).map(({ message }) => message.text).join("\n\n"));
    const differing = columns.length === 2 && a && b ? alike(a, b) : null;
    const cells = columns.map(({ row, conv, name }, x) => {
      const marks = markQuotes(conv?.scores.find((score) => score.metric === row?.metric), conv?.messages ?? []).marks;
      // Ids of quotes belong to the page of the conversation.
      const plain = (/** @type {number} */ place) => (marks.get(place) ?? []).map((mark) => ({ ...mark, id: "", letter: "" }));
      const said = saidIn(conv, "assistant", this.turn);
      const answer = differing ? [differing[x] ?? el("div")] : said.map(({ message, place }) => (message.text.trim() ? proseBlock(message.text, plain(place)) : el("p", { class: "muted" }, "(nothing was said)")));
      return el(
        "article",
        { class: "answer-cell" },
        el("p", { class: "answer-name" }, el("span", { class: "name" }, visible(name)), " ", row ? verdictMark(row.verdict, row.shown) : null),
        isSame ? null : el("div", { class: "answer-user" }, el("small", { class: "muted" }, "User"), textBlock(users[x] || "(nothing)")),
        answer.length > 0 ? answer : el("p", { class: "muted" }, "no answer in this turn"),
      );
    });
    const note = columns.length !== 2 ? "Whole answers, judges' quotes marked" : differing ? "Words that only one answer has are struck out and underlined" : "Whole answers: the texts share under half of their words, so that word differences are not shown";
    const user = isSame && users[0] ? el("div", { class: "answer-user shared" }, el("small", { class: "muted" }, columns.length > 1 ? `User, to all ${columns.length}` : "User"), textBlock(users[0])) : null;
    return { cells, note, user };
  }

  /**
   * @param {Index} index
   * @param {ScenarioRoute} route
   * @returns {import("./types.js").Key[]}
   */
  keys(index, route) {
    const row = index.rows[this.rowsOf(index, route)[0] ?? -1];
    /** @param {string} key @param {string} does @param {() => void} run */
    const key = (key, does, run) => ({ key, does, run });
    return [
      key("ArrowLeft", "cell to the left", () => this.focus(0, -1)),
      key("ArrowRight", "cell to the right", () => this.focus(0, 1)),
      key("ArrowUp", "cell above", () => this.focus(-1, 0)),
      key("ArrowDown", "cell below", () => this.focus(1, 0)),
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((turn) => key(String(turn), turn === 1 ? "turn 1, and so on to 9" : "", () => this.setTurn(turn))),
      key("j", "next scenario", () => row && this.step(index, route, row, 1)),
      key("k", "previous scenario", () => row && this.step(index, route, row, -1)),
      key("Escape", "back", () => history.back()),
    ];
  }
}

/**
 * The address of the scenario of a row, in all models.
 * @param {Index} index
 * @param {Row} row
 * @returns {string}
 */
export function scenarioAddress(index, row) {
  const run = index.runs[row.run];
  return writeRoute({ page: "scenario", id: row.base, benchmark: run?.benchmark ?? "", metric: index.metrics[row.metric]?.id ?? "", run: run?.id ?? "", row: row.conv_id });
}

/**
 * How many rows of the report are of the same scenario, benchmark and metric as a row.
 * @param {Index} index
 * @param {Row} row
 * @returns {Row[]}
 */
export function sameScenario(index, row) {
  const benchmark = index.runs[row.run]?.benchmark;
  return index.rows.filter((other) => other.base === row.base && other.metric === row.metric && index.runs[other.run]?.benchmark === benchmark);
}
