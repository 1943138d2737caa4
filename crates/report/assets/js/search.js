// Search for a text in the transcripts of all chunks, one after the other. The rows found so far are reported after each chunk.

/** @import {Conv, Index, Row, Source} from "./types.js" */

// How many characters of a text are shown before and after what was searched.
const BEFORE_HIT = 18;
const AFTER_HIT = 120;

/**
 * The searchable text of a conversation.
 * @param {Conv} conv
 * @returns {string}
 */
function spoken(conv) {
  /** @type {string[]} */
  const parts = [];
  for (const message of conv.messages) {
    parts.push(message.text, message.reasoning ?? "");
    for (const call of message.tool_calls ?? []) parts.push(call.name, call.arguments);
  }
  for (const score of conv.scores) parts.push(score.justification, ...(score.judges ?? []).map((judge) => judge.justification));
  parts.push(conv.scenario.title ?? "", conv.conv_id);
  return parts.join("\n");
}

/**
 * The place of a searched text in its words, or null.
 * @param {string} text
 * @param {string} wanted The text in lower case.
 * @returns {string | null}
 */
function snippet(text, wanted) {
  const low = text.toLowerCase();
  const at = low.indexOf(wanted);
  if (at < 0) return null;
  // A text whose lower-case form is longer is shown in lower case, so that the place is right.
  const from = low.length === text.length ? text : low;
  const start = Math.max(0, at - BEFORE_HIT);
  const end = at + wanted.length + AFTER_HIT;
  return `${start > 0 ? "…" : ""}${from.slice(start, end).replace(/\s+/g, " ")}${end < from.length ? "…" : ""}`;
}

/**
 * The place of a searched text in the row's data in the index.
 * @param {Row} row
 * @param {string} wanted The text in lower case.
 * @returns {string | null}
 */
function inIndex(row, wanted) {
  return snippet([row.title ?? "", row.said ?? "", row.preview, row.error ?? "", row.scenario, row.conv_id].join("\n"), wanted);
}

/**
 * Finds the rows that contain a text, in the index and in their conversations.
 * @param {Source} source
 * @param {Index} index
 * @param {number[]} numbers The rows to search.
 * @param {string} text
 * @param {AbortSignal} signal
 * @param {(found: Map<number, string>, done: number, all: number) => void} progress
 * @returns {Promise<Map<number, string>>} Each row that was found, with the words around the text.
 */
export async function searchRows(source, index, numbers, text, signal, progress) {
  const wanted = text.toLowerCase();
  // The text as JSON encodes it: a chunk that does not contain it need not be parsed.
  const written = JSON.stringify(wanted).slice(1, -1);
  /** @type {Map<number, string>} */
  const found = new Map();
  /** @type {Map<number, number[]>} */
  const byChunk = new Map();
  for (const number of numbers) {
    const row = index.rows[number];
    if (!row) continue;
    const there = inIndex(row, wanted);
    if (there !== null) found.set(number, there);
    else if (row.chunk !== undefined) {
      const rows = byChunk.get(row.chunk);
      if (rows) rows.push(number);
      else byChunk.set(row.chunk, [number]);
    }
  }
  let done = 0;
  for (const [chunk, rows] of [...byChunk].sort((a, b) => a[0] - b[0])) {
    if (signal.aborted) break;
    const json = await source.chunkText(chunk);
    if (json.toLowerCase().includes(written)) {
      /** @type {Conv[]} */
      const convs = JSON.parse(json);
      const hits = convs.map((conv) => snippet(spoken(conv), wanted));
      for (const number of rows) {
        const hit = hits[index.rows[number]?.at ?? -1];
        if (hit) found.set(number, hit);
      }
    }
    done += 1;
    progress(found, done, byChunk.size);
    // Lets the browser handle keys and scrolling.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return found;
}
