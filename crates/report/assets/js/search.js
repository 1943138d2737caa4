// Search for a text in the transcripts of all chunks. Workers read several chunks at once; the rows found so far are reported as they come.
import { patternOf, scanChunk, snippet, workerText } from "./scan.js";

/** @import {Index, Packed, Row, Source} from "./types.js" */

/**
 * Looks for a text in a chunk: the positions in it, with the words around the text.
 * @typedef {(packed: Packed, text: string) => Promise<[number, string][]>} Scan
 */

// The most workers. Each holds one chunk at a time.
const MOST_WORKERS = 8;

/**
 * The place of a searched text in the row's data in the index.
 * @param {Row} row
 * @param {RegExp} pattern
 * @returns {string | null}
 */
function inIndex(row, pattern) {
  return snippet([row.title ?? "", row.said ?? "", row.preview, row.error ?? "", row.scenario, row.conv_id], pattern);
}

/** The workers, once they are needed; none where the browser has none. @type {Scan[] | null} */
let scanners = null;

/**
 * A worker that reads one chunk at a time.
 * @param {string} address
 * @returns {Scan}
 */
function workerScan(address) {
  const worker = new Worker(address);
  let asked = 0;
  // A search that was stopped may still wait for its last chunk when the next one begins.
  /** @type {Map<number, {resolve: (hits: [number, string][]) => void, reject: (error: Error) => void}>} */
  const waiting = new Map();
  worker.addEventListener("message", ({ data }) => {
    const of = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.hits) of?.resolve(data.hits);
    else of?.reject(new Error(data.error));
  });
  worker.addEventListener("error", (event) => {
    for (const { reject } of waiting.values()) reject(new Error(event.message || "a worker of the search stopped"));
    waiting.clear();
  });
  return (packed, text) =>
    new Promise((resolve, reject) => {
      asked += 1;
      waiting.set(asked, { resolve, reject });
      worker.postMessage({ id: asked, packed, text });
    });
}

/**
 * What reads chunks: workers, or this page itself.
 * @returns {Scan[]}
 */
function allScanners() {
  if (scanners) return scanners;
  const number = Math.min(MOST_WORKERS, navigator.hardwareConcurrency || 2);
  try {
    const address = URL.createObjectURL(new Blob([workerText()], { type: "text/javascript" }));
    scanners = Array.from({ length: number }, () => workerScan(address));
  } catch {
    scanners = [scanChunk];
  }
  return scanners;
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
  const pattern = patternOf(text);
  /** @type {Map<number, string>} */
  const found = new Map();
  /** @type {Map<number, number[]>} */
  const byChunk = new Map();
  for (const number of numbers) {
    const row = index.rows[number];
    if (!row) continue;
    const there = inIndex(row, pattern);
    if (there !== null) found.set(number, there);
    else if (row.chunk !== undefined) {
      const rows = byChunk.get(row.chunk);
      if (rows) rows.push(number);
      else byChunk.set(row.chunk, [number]);
    }
  }
  const left = [...byChunk].sort((a, b) => a[0] - b[0]);
  let done = 0;
  /** Reads chunks until none is left. @param {Scan} scan */
  const work = async (scan) => {
    for (let next = left.shift(); next && !signal.aborted; next = left.shift()) {
      const [chunk, rows] = next;
      const hits = new Map(await scan(await source.packed(chunk), text));
      for (const number of rows) {
        const hit = hits.get(index.rows[number]?.at ?? -1);
        if (hit !== undefined) found.set(number, hit);
      }
      done += 1;
      if (!signal.aborted) progress(found, done, byChunk.size);
    }
  };
  await Promise.all(allScanners().map(work));
  return found;
}
