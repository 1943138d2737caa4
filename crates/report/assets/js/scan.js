// The search in one chunk. These functions also run in workers, which get them as text: they use nothing but each other.

/** @import {Packed} from "./types.js" */

/**
 * Decompresses gzip in base64 into text.
 * @param {string} base64
 * @returns {Promise<string>}
 */
export async function inflate(base64) {
  const text = base64.trim();
  // New browsers decode by themselves, ten times as fast.
  const decode = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (/** @type {unknown} */ (Uint8Array)).fromBase64;
  const bytes = decode ? decode.call(Uint8Array, text) : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const gzip = new DecompressionStream("gzip");
  const writer = gzip.writable.getWriter();
  // What is wrong with the data is an error of the reader.
  const ignore = () => {};
  // eslint-disable-next-line no-restricted-properties -- bytes go into a stream, not text into the document
  writer.write(bytes).catch(ignore);
  writer.close().catch(ignore);
  return new Response(gzip.readable).text();
}

/**
 * A pattern of a text, whatever its case.
 * @param {string} text
 * @param {string} [flags] More flags.
 * @returns {RegExp}
 */
export function patternOf(text, flags = "") {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), `iu${flags}`);
}

/**
 * The words around the first place of a pattern in one of several texts, or null.
 * @param {string[]} texts
 * @param {RegExp} pattern
 * @returns {string | null}
 */
export function snippet(texts, pattern) {
  // How many characters are shown before and after.
  const [before, after] = [18, 120];
  for (const text of texts) {
    const match = pattern.exec(text);
    if (!match) continue;
    const start = Math.max(0, match.index - before);
    const end = match.index + match[0].length + after;
    return `${start > 0 ? "…" : ""}${text.slice(start, end).replace(/\s+/g, " ")}${end < text.length ? "…" : ""}`;
  }
  return null;
}

/**
 * The next quotation mark of JSON itself: those inside a string have an odd number of backslashes before them.
 * @param {string} json
 * @param {number} from
 * @param {"indexOf" | "lastIndexOf"} look
 * @returns {number}
 */
function markAt(json, from, look) {
  for (let at = json[look]('"', from); ; at = json[look]('"', look === "indexOf" ? at + 1 : at - 1)) {
    let back = at;
    while (json[back - 1] === "\\") back -= 1;
    if ((at - back) % 2 === 0) return at;
  }
}

/**
 * The conversations of a chunk in whose messages, reasons or tool calls a text stands. The chunk is not parsed, which would take longer than all
 * else: each conversation is a line, and only the string around a place is read.
 * @param {Packed} packed
 * @param {string} text
 * @returns {Promise<[number, string][]>} The position of each in the chunk, and the words around the text.
 */
export async function scanChunk(packed, text) {
  const json = "json" in packed ? packed.json : await inflate(packed.base64);
  const [encoded, pattern] = [patternOf(JSON.stringify(text).slice(1, -1), "g"), patternOf(text)];
  /** @type {[number, string][]} */
  const hits = [];
  let [line, end, messages] = [-1, -1, -1];
  for (let match = encoded.exec(json); match; match = encoded.exec(json)) {
    while (match.index > end) {
      const start = end + 1;
      const next = json.indexOf("\n", start);
      [line, end, messages] = [line + 1, next < 0 ? json.length : next, json.indexOf('"messages":', start)];
    }
    // The scenario comes first. What of it is searched is in the index.
    encoded.lastIndex = Math.max(match.index + 1, messages);
    if (match.index < messages) continue;
    const opens = markAt(json, match.index - 1, "lastIndexOf");
    if (!/"(?:text|reasoning|name|arguments|justification)":$/.test(json.slice(opens - 20, opens))) continue;
    const closes = markAt(json, match.index, "indexOf");
    // A place inside an escape is none.
    const hit = snippet([JSON.parse(json.slice(opens, closes + 1))], pattern);
    if (hit !== null) hits.push([line, hit]);
    encoded.lastIndex = hit === null ? closes : end;
  }
  return hits;
}

/** The functions of this module as the text of a worker. */
export function workerText() {
  const answer = async (/** @type {MessageEvent} */ { data }) => {
    try {
      postMessage({ id: data.id, hits: await scanChunk(data.packed, data.text) });
    } catch (error) {
      postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
    }
  };
  return [...[inflate, patternOf, snippet, markAt, scanChunk].map(String), `onmessage = ${answer};`].join("\n");
}
