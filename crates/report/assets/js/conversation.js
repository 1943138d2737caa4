// The page of one conversation: the transcript, the verdicts, and other conversations of the same scenario.
import { button, byId, copy, el, waysOut } from "./dom.js";
import { isMetric } from "./filter.js";
import { Hits } from "./hits.js";
import { setKeys } from "./keys.js";
import { asMarkdown } from "./markdown.js";
import { modelMark } from "./model_mark.js";
import { sameScenario, scenarioAddress } from "./scenarios.js";
import { OwnLabel } from "./own_label.js";
import { markQuotes } from "./quotes.js";
import { rowAddress, writeRoute } from "./router.js";
import { conversationOf } from "./source.js";
import { count, counted, dollars, textBlock, visible } from "./text.js";
import { callsPart, setting, transcript } from "./transcript.js";
import { verdicts } from "./verdict.js";
import { reasonWords, shellWord, turnWords, variantWords, verdictMark } from "./words.js";

/** @import {Conv, ConversationRoute, Index, Row, Source} from "./types.js" */
/** @import {LabelStore} from "./labels.js" */

/**
 * The rows of a conversation.
 * @param {Index} index
 * @param {string} id
 * @param {string} run The run's id; empty for any run.
 * @returns {number[]}
 */
function rowsOf(index, id, run) {
  const found = [];
  for (const [number, row] of index.rows.entries()) {
    if (row.conv_id === id && (!run || index.runs[row.run]?.id === run)) found.push(number);
  }
  return found;
}

/** The page of one conversation. */
export class ConversationPage {
  /**
   * @param {Source} source
   * @param {LabelStore} store
   * @param {() => number[]} order The rows in the order of the table.
   * @param {(number: number) => void} looked Called with the number of the shown row.
   * @param {() => string} back The address of the table.
   */
  constructor(source, store, order, looked, back) {
    this.source = source;
    this.own = new OwnLabel(source, store, () => this.step(this.number, 1));
    /** The number of the shown row, or -1. */
    this.number = -1;
    this.order = order;
    this.looked = looked;
    this.back = back;
    /** @type {Index | null} */
    this.index = null;
    this.shown = 0;
    /** The searched text of the address. */
    this.find = "";
    /** The address of the drawn conversation, without the message; empty if nothing is drawn, or not all of it. */
    this.drawn = "";
    this.hits = new Hits();
    this.found = el("span", { class: "hits", role: "status" });
  }

  /** @param {Index} index */
  setIndex(index) {
    this.index = index;
    this.drawn = "";
  }

  /**
   * Shows the conversation of a route.
   * @param {ConversationRoute} route
   */
  async show(route) {
    const place = byId("conversation");
    const index = this.index;
    if (!index) return;
    this.find = route.find;
    const address = writeRoute({ ...route, message: "" });
    if (!route.find) this.hits.find([], "");
    if (route.message && address === this.drawn) {
      this.showMessage(route.message);
      return;
    }
    this.shown += 1;
    this.drawn = "";
    this.own.of = null;
    const { shown } = this;
    const numbers = rowsOf(index, route.id, route.run);
    const asked = numbers.find((one) => {
      const metric = index.metrics[index.rows[one]?.metric ?? -1];
      return metric !== undefined && isMetric(metric, route.metric);
    });
    const number = asked ?? numbers[0];
    const row = number === undefined ? undefined : index.rows[number];
    if (number === undefined || !row) {
      place.replaceChildren(...this.missing(index, route));
      setKeys(this.keys(-1));
      place.querySelector("h2")?.focus({ preventScroll: true });
      return;
    }
    this.looked(number);
    this.number = number;
    setKeys(this.keys(number));
    try {
      const conv = await conversationOf(this.source, row);
      // Meanwhile, another conversation was requested.
      if (shown !== this.shown) return;
      place.replaceChildren(...this.content(index, route, number, conv));
      if (route.metric && asked === undefined) {
        place.querySelector(".conversation-head")?.after(el("p", { class: "note" }, "The conversation has no verdict on the metric ", el("code", {}, visible(route.metric)), "."));
      }
      this.drawn = address;
      place.querySelector("h2")?.focus({ preventScroll: true });
      if (route.find) this.mark(route.find);
      if (route.message) this.showMessage(route.message);
    } catch (error) {
      if (shown !== this.shown) return;
      const message = error instanceof Error ? error.message : String(error);
      place.replaceChildren(...this.head(index, route, number), el("p", { class: "note error", role: "alert" }, visible(message)));
    }
  }

  /**
   * The content for an address that names no row.
   * @param {Index} index
   * @param {ConversationRoute} route
   * @returns {HTMLElement[]}
   */
  missing(index, route) {
    const run = route.run ? [" of ", el("code", {}, visible(route.run))] : [];
    /** @type {HTMLElement[]} */
    const parts = [el("h2", { tabindex: "-1" }, "No such conversation"), el("p", {}, "This report has no row of the conversation ", el("code", {}, visible(route.id)), ...run, ".")];
    const held = index.rows.length;
    if (held < index.total_rows) parts.push(el("p", {}, `It holds ${count(held)} of ${counted(index.total_rows, "row")}; a report with `, el("code", {}, "--rows all"), " has every one."));
    if (route.run && rowsOf(index, route.id, "").length > 0) {
      const elsewhere = writeRoute({ ...route, run: "", message: "" });
      parts.push(el("p", {}, el("a", { href: elsewhere }, "The same conversation of another model")));
    }
    parts.push(waysOut());
    return parts;
  }

  /**
   * Marks the places of a searched text.
   * @param {string} text
   */
  mark(text) {
    this.hits.find([...byId("conversation").querySelectorAll(".message .text, .tool-call, .scores .text")], text);
    this.walk(0);
  }

  /**
   * Goes to the next place of the searched text, or to the one before.
   * @param {number} by
   */
  walk(by) {
    if (by !== 0) this.hits.step(by);
    this.found.textContent = this.hits.words();
  }

  /**
   * Marks a message, scrolls it into view and focuses it.
   * @param {string} number
   */
  showMessage(number) {
    const place = byId("conversation");
    place.querySelector(".no-message")?.remove();
    for (const marked of place.querySelectorAll(".message[aria-current]")) marked.removeAttribute("aria-current");
    const message = /^\d+$/.test(number) ? document.getElementById(`message-${number}`) : null;
    if (!message) {
      place.querySelector(".said")?.prepend(el("p", { class: "note no-message", role: "status" }, `This conversation has no message ${visible(number)}.`));
      return;
    }
    message.setAttribute("aria-current", "location");
    message.scrollIntoView({ block: "start" });
    message.focus({ preventScroll: true });
  }

  /**
   * The title, with links to the previous and next rows.
   * @param {Index} index
   * @param {ConversationRoute} route
   * @param {number} number
   * @param {Conv} [conv]
   * @returns {HTMLElement[]}
   */
  head(index, route, number, conv) {
    const row = /** @type {Row} */ (index.rows[number]);
    const run = index.runs[row.run];
    const order = this.orderWith(number);
    const place = order.indexOf(number);
    const actions = el("div", { class: "actions" }, button("Copy link", () => void copy(location.href, "Link")));
    if (conv) actions.append(button("Copy as Markdown", () => void copy(asMarkdown(index, conv), "Conversation")));
    if (run?.rerun) {
      const command = run.rerun_row ? `${run.rerun} --force-row ${shellWord(row.conv_id)}` : run.rerun;
      actions.append(button("Copy command to re-run", () => void copy(command, "Command"), { title: command }));
    }
    const title = conv?.scenario.title ?? row.title ?? row.scenario;
    const { turns, planned, why } = turnWords(index, row);
    const facts = [
      variantWords(row.variant),
      index.rows.some((one) => one.sample > 0) ? `sample ${row.sample}` : "",
      planned ? `${turns}${planned} turns${why && `: ${why}`}` : counted(row.turns, "turn"),
      conv?.cost === undefined ? "" : dollars(conv.cost),
      row.incomplete ? "incomplete" : "",
      route.id,
    ];
    this.found = el("span", { class: "hits", role: "status" });
    const walk = route.find && conv ? [this.found, button("Next hit", () => this.walk(1), { title: "n" })] : [];
    return [
      el(
        "nav",
        { class: "steps", "aria-label": "Rows" },
        el("a", { href: this.back(), class: "back" }, "Rows"),
        button("Previous", () => this.step(number, -1), { disabled: place <= 0 }),
        el("span", {}, `${count(place + 1)} of ${count(order.length)}`),
        button("Next", () => this.step(number, 1), { disabled: place >= order.length - 1 }),
        walk,
        actions,
      ),
      el(
        "div",
        { class: "conversation-head" },
        el("h2", { tabindex: "-1", dir: "auto" }, visible(title)),
        el("p", {}, run && [modelMark(run.target), el("span", { class: "name", dir: "auto" }, visible(run.id))], el("span", { class: "muted" }, facts.filter(Boolean).map((fact) => ` · ${visible(fact ?? "")}`).join("")), this.elsewhere(index, row)),
      ),
    ];
  }

  /**
   * The link to the same scenario in other conversations.
   * @param {Index} index
   * @param {Row} row
   * @returns {(Node | string)[]}
   */
  elsewhere(index, row) {
    const others = sameScenario(index, row);
    if (others.length < 2) return [];
    const words = others.some((other) => other.run !== row.run) ? "same scenario in all models" : "same scenario in all variants";
    return [" · ", el("a", { href: scenarioAddress(index, row), class: "same-scenario" }, words)];
  }

  /**
   * @param {Index} index
   * @param {ConversationRoute} route
   * @param {number} number
   * @param {Conv | undefined} conv
   * @returns {HTMLElement[]}
   */
  content(index, route, number, conv) {
    const row = /** @type {Row} */ (index.rows[number]);
    const parts = this.head(index, route, number, conv);
    if (!conv) {
      parts.push(
        el("p", { class: "note" }, "This page does not hold the conversation; ", el("code", {}, "--rows all"), " keeps every one. The row says: ", verdictMark(row.verdict, row.shown), row.reason ? `, ${reasonWords(row.reason)}` : "", "."),
        el("blockquote", {}, textBlock(row.preview)),
      );
      if (row.error) parts.push(el("div", { class: "note error" }, textBlock(row.error)));
      return parts;
    }
    const score = conv.scores.find((one) => one.metric === row.metric);
    const { quotes, marks } = markQuotes(score, conv.messages);
    /** @param {number} message */
    const address = (message) => rowAddress(index, row, String(message), route.find);
    const said = el("section", { class: "said", "aria-label": "Transcript" });
    said.append(transcript(conv, marks, { address }));
    said.append(el("section", { class: "setup", "aria-label": "Setup" }, setting(conv), callsPart(conv)));
    const beside = el("div", { class: "beside" }, verdicts({ index, conv, address }, row, score, quotes, this.own.show(index, row, conv)));
    parts.push(el("div", { class: "conversation" }, beside, said));
    return parts;
  }

  /**
   * The rows to step through: the rows of the table, or all rows if the table does not show this one.
   * @param {number} number
   * @returns {number[]}
   */
  orderWith(number) {
    const order = this.order();
    return order.includes(number) ? order : (this.index?.rows ?? []).map((_row, place) => place);
  }

  /**
   * @param {number} number
   * @param {number} by
   */
  step(number, by) {
    const order = this.orderWith(number);
    const row = this.index?.rows[order[order.indexOf(number) + by] ?? -1];
    // All steps together make one entry in the history, so that "back" leads to the table.
    if (row && this.index) location.replace(rowAddress(this.index, row, "", this.find));
  }

  /**
   * @param {number} number
   * @returns {import("./types.js").Key[]}
   */
  keys(number) {
    return [
      { key: "j", does: "next row", run: () => this.step(number, 1) },
      { key: "k", does: "previous row", run: () => this.step(number, -1) },
      { key: "n", does: "next hit of the search", run: () => this.walk(1) },
      { key: "N", does: "previous hit of the search", run: () => this.walk(-1) },
      { key: "c", does: "the same scenario in all models", run: () => {
        const link = byId("conversation").querySelector("a.same-scenario");
        if (link instanceof HTMLAnchorElement) location.hash = link.hash;
      } },
      ...this.own.keys(),
      { key: "Escape", does: "back to the rows", run: () => (location.hash = this.back()) },
    ];
  }
}
