// Search for a text in the transcripts of all chunks, one after the other. The rows found so far are reported after each chunk.

/** @import {Conv, Index, Row, Source} from "./types.js" */

/**
 * The searchable text of a conversation, in lower case.
 * @param {Conv} conv
 * @returns {string}
 */
function spoken(conv) {
  const parts = [conv.conv_id, conv.scenario.title ?? ""];
  for (const message of conv.messages) {
    parts.push(message.text, message.reasoning ?? "");
    for (const call of message.tool_calls ?? []) parts.push(call.name, call.arguments);
  }
  for (const score of conv.scores) parts.push(score.justification, ...(score.judges ?? []).map((judge) => judge.justification));
  return parts.join("\n").toLowerCase();
}

/**
 * Whether the row's data in the index contain the text.
 * @param {Row} row
 * @param {string} wanted The text in lower case.
 * @returns {boolean}
 */
function inIndex(row, wanted) {
  const said = `${row.conv_id}\n${row.scenario}\n${row.preview}\n${row.error ?? ""}`;
  return said.toLowerCase().includes(wanted);
}

/**
 * Finds the rows that contain a text, in the index and in their conversations.
 * @param {Source} source
 * @param {Index} index
 * @param {number[]} numbers The rows to search.
 * @param {string} text
 * @param {AbortSignal} signal
 * @param {(found: Set<number>, done: number, all: number) => void} progress
 * @returns {Promise<Set<number>>}
 */
export async function searchRows(source, index, numbers, text, signal, progress) {
  const wanted = text.toLowerCase();
  // The text as JSON encodes it: a chunk that does not contain it need not be parsed.
  const written = JSON.stringify(wanted).slice(1, -1);
  const found = new Set();
  /** @type {Map<number, number[]>} */
  const byChunk = new Map();
  for (const number of numbers) {
    const row = index.rows[number];
    if (!row) continue;
    if (inIndex(row, wanted)) found.add(number);
    else if (row.chunk !== undefined) {
      const there = byChunk.get(row.chunk);
      if (there) there.push(number);
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
      const hits = new Set(convs.flatMap((conv, place) => (spoken(conv).includes(wanted) ? [place] : [])));
      for (const number of rows) {
        const at = index.rows[number]?.at;
        if (at !== undefined && hits.has(at)) found.add(number);
      }
    }
    done += 1;
    progress(found, done, byChunk.size);
    // Lets the browser handle keys and scrolling.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return found;
}
