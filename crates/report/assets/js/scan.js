// The search in one chunk. These functions also run in workers, which get them as text: they use nothing but each other.

/** @import {Conv, Packed} from "./types.js" */

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
 * The searchable texts of a conversation, one after the other.
 * @param {Conv} conv
 * @returns {Iterable<string>}
 */
function* spoken(conv) {
  for (const message of conv.messages) {
    yield message.text;
    if (message.reasoning) yield message.reasoning;
    for (const call of message.tool_calls ?? []) yield* [call.name, call.arguments];
  }
  for (const score of conv.scores) {
    yield score.justification;
    for (const judge of score.judges ?? []) yield judge.justification;
  }
  yield* [conv.scenario.title ?? "", conv.conv_id];
}

/**
 * What finds a text, whatever its case. A pattern needs no copy of a text in lower case, but folds only ASCII as `toLowerCase` does.
 * @param {string} wanted The text in lower case.
 * @returns {(text: string) => [number, number] | null} Where it begins and ends in a text.
 */
export function finder(wanted) {
  if (/^[\x20-\x7e]*$/.test(wanted)) {
    const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
    return (text) => {
      const match = pattern.exec(text);
      return match && [match.index, match.index + match[0].length];
    };
  }
  return (text) => {
    const low = text.toLowerCase();
    const at = low.indexOf(wanted);
    // Where the lower-case form is longer, places in it are about those in the text.
    return at < 0 ? null : [Math.min(at, text.length), at + wanted.length];
  };
}

/**
 * The words around the first place of a text in one of several texts, or null.
 * @param {Iterable<string>} texts
 * @param {(text: string) => [number, number] | null} find
 * @returns {string | null}
 */
export function snippet(texts, find) {
  // How many characters are shown before and after.
  const [before, after] = [18, 120];
  for (const text of texts) {
    const place = find(text);
    if (!place) continue;
    const start = Math.max(0, place[0] - before);
    const end = place[1] + after;
    return `${start > 0 ? "…" : ""}${text.slice(start, end).replace(/\s+/g, " ")}${end < text.length ? "…" : ""}`;
  }
  return null;
}

/**
 * The conversations of a chunk that contain a text.
 * @param {Packed} packed
 * @param {string} wanted The text in lower case.
 * @returns {Promise<[number, string][]>} The position of each in the chunk, and the words around the text.
 */
export async function scanChunk(packed, wanted) {
  const json = "json" in packed ? packed.json : await inflate(packed.base64);
  // The text as JSON encodes it: a chunk that does not contain it need not be parsed.
  if (!finder(JSON.stringify(wanted).slice(1, -1))(json)) return [];
  const find = finder(wanted);
  /** @type {Conv[]} */
  const convs = JSON.parse(json);
  return convs.flatMap((conv, at) => {
    const hit = snippet(spoken(conv), find);
    return hit === null ? [] : [/** @type {[number, string]} */ ([at, hit])];
  });
}

/** The functions of this module as the text of a worker. */
export function workerText() {
  const answer = async (/** @type {MessageEvent} */ { data }) => {
    try {
      postMessage({ id: data.id, hits: await scanChunk(data.packed, data.wanted) });
    } catch (error) {
      postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
    }
  };
  return [...[inflate, spoken, finder, snippet, scanChunk].map(String), `onmessage = ${answer};`].join("\n");
}
