// A conversation as Markdown, to paste into an issue or an e-mail.
import { laidOut, visible } from "./text.js";
import { metricText, realismWords, reasonWords } from "./words.js";

/** @import {Conv, Index, Verdict} from "./types.js" */

/**
 * The text with `> ` before each line.
 * @param {string} text
 * @returns {string}
 */
function quoted(text) {
  return text.split(/\r\n|\r|\n/).map((line) => `> ${visible(line)}`).join("\n");
}

/**
 * A verdict, with its value or the reason why there is no verdict.
 * @param {{verdict: Verdict, shown?: string, reason?: string}} of
 * @returns {string}
 */
function verdictText({ verdict, shown, reason }) {
  const more = reason ? reasonWords(reason) : (shown ?? "");
  return `${verdict === "none" ? "no verdict" : verdict}${more && ` (${visible(more)})`}`;
}

/**
 * @param {Index} index
 * @param {Conv} conv
 * @returns {string}
 */
export function asMarkdown(index, conv) {
  const run = index.runs[conv.run];
  const lines = [`## ${visible(conv.scenario.title ?? conv.scenario.id)}`, "", `Model \`${run?.id ?? ""}\`, conversation \`${visible(conv.conv_id)}\``];
  /** @param {string} title @param {string} text */
  const part = (title, text) => lines.push("", `**${title}**`, "", quoted(text));
  if (conv.system_prompt) part("System prompt", conv.system_prompt);
  for (const [place, message] of conv.messages.entries()) {
    // The number that the judges use in their words, which follow below.
    const number = `[${place + 1}]`;
    const who = message.role === "user" ? "User" : message.role === "assistant" ? "Model" : visible(`${message.role} ${message.name ?? ""}`.trim());
    if (message.text) part(`${number} ${who}, turn ${message.turn}`, message.text);
    for (const call of message.tool_calls ?? []) part(`${number} ${who} calls ${visible(call.name)}`, laidOut(call.arguments));
  }
  if (conv.error) part("Error", conv.error);
  for (const score of conv.scores) {
    const metric = index.metrics[score.metric];
    const name = metric ? metricText(index, metric) : "Score";
    part(`${name}: ${verdictText(score)}`, score.justification || score.error || "");
    for (const judge of score.judges ?? []) part(`${name}, ${visible(judge.judge)}: ${verdictText(judge)}`, judge.justification);
  }
  for (const judge of conv.realism?.judges ?? []) part(`Realism, ${visible(judge.judge)}: ${realismWords(judge)}`, judge.reason);
  return `${lines.join("\n")}\n`;
}
