// The turns of a conversation.
import { el, folded } from "./dom.js";
import { proseBlock } from "./prose.js";
import { asText, count, counted, dollars, laidOut, seconds, textBlock, visible } from "./text.js";
import { reasonWords } from "./words.js";

/** @import {Conv, Message, Fault, ToolCall} from "./types.js" */
/** @import {Mark} from "./text.js" */

/** @type {Record<string, string>} */
const FINISH_WORDS = { length: "cut off at the token limit", content_filter: "stopped by the provider's filter", tool_calls: "ended with tool calls" };

/**
 * The figures of a call: `model · 1,200 in, 300 out · 2.1 s · $0.0012`.
 * @param {{model?: string, tokens_in?: number, tokens_out?: number, seconds?: number, cost?: number, cached?: boolean}} call
 * @returns {string}
 */
export function callWords(call) {
  const parts = [];
  if (call.model) parts.push(visible(call.model));
  const tokens = [];
  if (call.tokens_in !== undefined) tokens.push(`${count(call.tokens_in)} in`);
  if (call.tokens_out !== undefined) tokens.push(`${count(call.tokens_out)} out`);
  if (tokens.length) parts.push(`${tokens.join(", ")} tokens`);
  if (call.seconds !== undefined) parts.push(seconds(call.seconds));
  if (call.cost !== undefined) parts.push(dollars(call.cost));
  if (call.cached) parts.push("from the cache");
  return parts.join(" · ");
}

/**
 * @param {ToolCall} call
 * @returns {HTMLElement}
 */
function toolCall(call) {
  return el(
    "div",
    { class: "tool-call" },
    el("p", {}, "calls ", el("code", { dir: "auto" }, visible(call.name)), el("small", { class: "muted" }, ` ${visible(call.id)}`)),
    textBlock(laidOut(call.arguments)),
  );
}

/**
 * @param {Fault} fault
 * @returns {HTMLElement}
 */
function faultNote(fault) {
  const note = el(
    "div",
    { class: "note fault" },
    el("p", {}, el("b", {}, "Simulator fault"), ` in turn ${fault.turn}: ${reasonWords(fault.kind)}${fault.retried ? "; the turn was repeated" : ""}`),
  );
  if (fault.text) note.append(textBlock(fault.text));
  return note;
}

/**
 * The number of a message, as judges use it: its position in the transcript, from 1.
 * @param {number} number
 * @param {string | undefined} href The address of the message, if the page has one.
 * @returns {HTMLElement}
 */
function numberMark(number, href) {
  const shown = String(number);
  const title = `message ${number}: judges name it by this number`;
  return href === undefined ? el("span", { class: "number", title }, shown) : el("a", { class: "number", href, title }, shown);
}

/**
 * @param {Message} message
 * @param {number} place
 * @param {Mark[]} marks
 * @param {{blind: boolean, address: ((number: number) => string) | undefined}} options
 * @returns {HTMLLIElement}
 */
function messageItem(message, place, marks, { blind, address }) {
  /** @type {Record<string, string>} */
  const speakers = { user: "User", assistant: "Model", tool: `Tool ${message.name ?? ""}`, system: "System" };
  const calls = message.tool_calls ?? [];
  const meta = blind ? "" : callWords(message);
  const who = visible(speakers[message.role] ?? message.role);
  const item = el(
    "li",
    { class: `message ${/^\w+$/.test(message.role) ? message.role : "other"}`, id: address && `message-${place + 1}`, tabindex: address && "-1" },
    el(
      "header",
      {},
      numberMark(place + 1, address?.(place + 1)),
      el("span", { class: "who", title: meta || null }, who),
      message.tool_call_id ? el("small", { class: "muted" }, `answers ${visible(message.tool_call_id)}`) : null,
    ),
  );
  if (message.reasoning) {
    const { reasoning } = message;
    item.append(folded(`Reasoning (${counted(reasoning.length, "character")})`, () => textBlock(reasoning), { class: "reasoning" }));
  }
  if (message.text.trim()) item.append(message.role === "tool" ? textBlock(laidOut(message.text), marks) : proseBlock(message.text, marks));
  else if (calls.length === 0) item.append(el("p", { class: "muted empty" }, "(nothing was said)"));
  item.append(...calls.map(toolCall));
  if (message.finish) item.append(el("p", { class: "note cut" }, FINISH_WORDS[message.finish] ?? visible(message.finish)));
  return item;
}

/**
 * The instructions to the simulated user and the target's system prompt, folded.
 * @param {Conv} conv
 * @returns {HTMLElement}
 */
export function setting(conv) {
  const { scenario } = conv;
  const setup = el("div", { class: "setting" });
  /** @param {string} title @param {unknown} value @param {string} [name] */
  const part = (title, value, name) => {
    if (value === undefined || value === null || value === "") return;
    setup.append(folded(title, () => textBlock(asText(value)), { class: name }));
  };
  part("System prompt", conv.system_prompt);
  part("Persona of the simulated user", scenario.persona);
  part("Goal that the user states", scenario.user_goal);
  part("Hidden goal", scenario.hidden_goal, "hidden-goal");
  part("Demographic", scenario.demographic);
  part("World of the tools", scenario.world_state);
  return setup;
}

/**
 * The calls behind the messages, folded: model, tokens, time and cost of each.
 * @param {Conv} conv
 * @returns {HTMLElement | null}
 */
export function callsPart(conv) {
  const known = conv.messages.flatMap((message, place) => {
    const words = callWords(message);
    return words ? [el("li", { value: place + 1 }, words)] : [];
  });
  if (known.length === 0) return null;
  return folded(`Calls of ${counted(known.length, "message")}`, () => el("ol", { class: "calls" }, known), { class: "calls-part" });
}

/**
 * Landmarks as a note in the margin.
 * @param {string} title
 * @param {{text: string}[]} landmarks
 * @returns {HTMLLIElement}
 */
function landmarkNote(title, landmarks) {
  return el("li", { class: "landmark" }, el("span", { class: "landmark-title" }, title), landmarks.map((landmark) => textBlock(landmark.text)));
}

/**
 * The transcript: each turn with its landmark, calls and faults.
 * @param {Conv} conv
 * @param {Map<number, Mark[]>} marks The marks of the judge's quotes, by message.
 * @param {object} [options]
 * @param {boolean} [options.blind] Hides the names of models and the instructions to the simulated user.
 * @param {(number: number) => string} [options.address] Returns the address of a message; without it, messages have no address.
 * @returns {HTMLOListElement}
 */
export function transcript(conv, marks, { blind = false, address } = {}) {
  const landmarks = blind ? [] : (conv.scenario.landmarks ?? []);
  const list = el("ol", { class: landmarks.length > 0 ? "transcript with-margin" : "transcript" });
  const steered = new Set();
  const faulty = new Set();
  for (const [place, message] of conv.messages.entries()) {
    if (message.role === "user" && !steered.has(message.turn)) {
      steered.add(message.turn);
      const here = landmarks.filter((landmark) => landmark.turn === message.turn);
      if (here.length > 0) list.append(landmarkNote("landmark", here));
    }
    for (const fault of blind ? [] : (conv.faults ?? [])) {
      if (fault.turn !== message.turn || faulty.has(fault)) continue;
      faulty.add(fault);
      list.append(el("li", {}, faultNote(fault)));
    }
    list.append(messageItem(message, place, marks.get(place) ?? [], { blind, address }));
  }
  for (const fault of blind ? [] : (conv.faults ?? [])) if (!faulty.has(fault)) list.append(el("li", {}, faultNote(fault)));
  for (const landmark of landmarks) if (!steered.has(landmark.turn)) list.append(landmarkNote(`landmark of turn ${landmark.turn}, not reached`, [landmark]));
  if (conv.messages.length === 0) list.append(el("li", { class: "muted" }, "Nothing was said."));
  if (conv.error && !blind) list.append(el("li", { class: "note error" }, el("b", {}, "Error"), textBlock(conv.error)));
  return list;
}
