// One scenario in all models: verdict and reason in each cell, and the answers of one turn side by side.
import { Answers } from "./answers.js";
import { button, byId, el, say, waysOut } from "./dom.js";
import { isMetric } from "./filter.js";
import { setKeys } from "./keys.js";
import { modelMark } from "./model_mark.js";
import { rowAddress, writeRoute } from "./router.js";
import { absentWords, heldWords, scenariosAddress, scenariosOf } from "./scenarios.js";
import { counted, textNodes, visible } from "./text.js";
import { metricWords } from "./verdict.js";
import { variantWords, verdictMark } from "./words.js";

/** @import {Index, Row, ScenarioRoute, Source} from "./types.js" */

/**
 * The table: the names above its columns, the names of its lines, and in each cell the number of a row or -1.
 * @typedef {object} Grid
 * @property {{name: string, target: string}[]} columns
 * @property {string[]} lines
 * @property {number[][]} cells
 */

// More dissenting judges than this are counted and not named.
const MOST_NAMED = 3;

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
    /** The names of the two columns whose answers are compared; empty for all. @type {string[]} */
    this.pair = [];
    /** The column that was chosen last, to compare it. */
    this.picked = "";
    /** @type {ScenarioRoute | null} */
    this.route = null;
    this.answers = new Answers(source, (pair) => this.setPair(pair));
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
    this.route = route;
    this.pair = route.pair;
    this.answers.turn = 0;
    const asked = this.grid.cells.flatMap((line, y) => line.flatMap((number, x) => (number >= 0 && index.rows[number]?.conv_id === route.row && (!route.run || index.runs[index.rows[number]?.run ?? -1]?.id === route.run) ? [[y, x]] : [])));
    this.at = asked[0] ?? [Math.max(0, this.parting(index)), 0];
    place.replaceChildren(...this.head(index, route, first, numbers), this.table(index, first.metric), this.answers.element);
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
    const order = scenariosOf(index, row.metric).map((of) => of.base);
    const place = order.indexOf(row.base);
    return [
      el(
        "nav",
        { class: "steps", "aria-label": "Scenarios" },
        el("a", { href: this.back(index, row), class: "back" }, metric ? `Scenarios of ${visible(metric.id)}` : "Scenarios"),
        button("Previous", () => this.step(index, route, row, -1), { disabled: place <= 0 }),
        el("span", {}, `${place + 1} of ${order.length}`),
        button("Next", () => this.step(index, route, row, 1), { disabled: place >= order.length - 1 }),
      ),
      el("h2", { tabindex: "-1", dir: "auto" }, visible(row.title ?? row.base)),
      el("p", {}, el("b", {}, fails === 0 ? `None of ${counted(numbers.length, "row")} fails.` : `${fails} of ${counted(numbers.length, "row")} ${fails === 1 ? "fails" : "fail"}.`), " ", el("span", { class: "muted" }, visible(row.base))),
      metric ? metricWords(index, metric) : el("p"),
      ...[heldWords(index)].filter((part) => part !== null),
    ];
  }

  /**
   * The address of the list of scenarios.
   * @param {Index} index
   * @param {Row | undefined} row
   * @returns {string}
   */
  back(index, row) {
    const metric = index.metrics[row?.metric ?? -1];
    return metric ? scenariosAddress(metric) : "#/scenarios";
  }

  /**
   * @param {Index} index
   * @param {ScenarioRoute} route
   * @param {Row} row
   * @param {number} by
   */
  step(index, route, row, by) {
    const order = scenariosOf(index, row.metric).map((of) => of.base);
    const next = order[order.indexOf(row.base) + by];
    if (next !== undefined) location.replace(writeRoute({ ...route, id: next, metric: index.metrics[row.metric]?.id ?? "", row: "", run: "", pair: this.pair }));
  }

  /**
   * @param {Index} index
   * @param {number} metric The number of the metric.
   * @returns {HTMLElement}
   */
  table(index, metric) {
    const { columns, lines, cells } = this.grid;
    /** @param {string} id @param {number} at */
    const rate = (id, at) => {
      const text = index.runs.find((run) => run.id === id)?.rates?.[metric];
      return text ? el("small", { class: "muted" }, `${text}${at === 0 ? " in this metric" : ""}`) : null;
    };
    const head = el("tr", {}, el("td"), columns.map(({ name, target }, x) => el("th", { scope: "col" }, target && modelMark(target), visible(name), target ? rate(name, x) : null)));
    const body = cells.map((line, y) =>
      el("tr", {}, lines[y] ? el("th", { scope: "row" }, visible(lines[y]), columns[0]?.target ? null : rate(lines[y], 0)) : el("td"), line.map((number, x) => el("td", {}, this.cell(index, number, y, x)))),
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
    if (!row) return el("span", { class: "muted empty-cell" }, el("span", { class: "cell-model" }, visible(this.grid.columns[x]?.name ?? "")), absentWords(index));
    const [passed, failed] = row.votes ?? [0, 0];
    const { judges = [], said = "" } = row.dissent ?? {};
    const agree = row.votes && row.verdict !== "none" ? `${row.verdict === "pass" ? passed : failed} of ${passed + failed}` : "";
    const dissenting = judges.length > MOST_NAMED ? `${judges.length} judges dissent` : judges.length > 0 ? `${judges.join(", ")} ${judges.length === 1 ? "dissents" : "dissent"}` : "";
    const votes = [agree, visible(dissenting)].filter(Boolean).join(", ");
    const cell = el(
      "a",
      { class: `cell ${row.verdict}-cell`, href: rowAddress(index, row), tabindex: "-1", "data-cell": `${y},${x}` },
      el("span", { class: "cell-model" }, visible(this.grid.columns[x]?.name ?? "")),
      el("span", { class: "cell-verdict" }, verdictMark(row.verdict, row.shown), votes && el("small", {}, votes)),
      said ? el("span", { class: "cell-reason", dir: "auto" }, el("b", {}, "Dissent: "), textNodes(said)) : null,
      el("span", { class: "cell-reason", dir: "auto" }, said ? el("b", {}, row.verdict === "pass" ? "Pass: " : "Fail: ") : null, textNodes(row.said ?? row.error ?? "")),
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

  /** Draws the answers of the line with the focus. */
  async drawAnswers() {
    const { index, grid } = this;
    if (!index) return;
    const line = grid.cells[this.at[0] ?? 0] ?? [];
    const columns = grid.columns.map(({ name }, x) => ({ name, row: index.rows[line[x] ?? -1] }));
    await this.answers.show(grid.lines[this.at[0] ?? 0] ?? "", columns, this.pair);
  }

  /**
   * Compares the answers of two columns; with none, shows all. The address has them, and the next scenario keeps them.
   * @param {string[]} pair
   */
  setPair(pair) {
    this.pair = pair;
    if (this.route) {
      this.route = { ...this.route, pair };
      history.replaceState(history.state, "", writeRoute(this.route));
    }
    void this.drawAnswers();
  }

  /** Takes the column with the focus as the next one to compare. */
  pickColumn() {
    const name = this.grid.columns[this.at[1] ?? 0]?.name ?? "";
    const before = this.pair.length === 2 ? (this.pair[1] ?? "") : this.picked;
    this.picked = name;
    if (before && before !== name) this.setPair([before, name]);
    else say(`${visible(name)}: choose another model with x to compare their answers`);
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
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((turn) => key(String(turn), turn === 1 ? "turn 1, and so on to 9" : "", () => this.answers.setTurn(turn))),
      key("j", "next scenario", () => row && this.step(index, route, row, 1)),
      key("k", "previous scenario", () => row && this.step(index, route, row, -1)),
      key("x", "compare the answers of this model and of the next one chosen", () => this.pickColumn()),
      key("Escape", "the list of scenarios", () => (location.hash = this.back(index, row))),
    ];
  }
}
