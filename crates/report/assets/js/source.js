// The source of the data. The page has three forms: data in the page, data in scripts beside it, and data from the viewer.

import { inflate } from "./scan.js";

/** @import {Source, Conv, Row} from "./types.js" */

// The most parsed chunks in memory. A chunk is about half a megabyte of JSON.
const KEPT_CHUNKS = 16;

/**
 * A cache of the chunks used last.
 * @param {(number: number) => Promise<string>} load
 * @returns {{chunk: (number: number) => Promise<Conv[]>, forget: () => void}}
 */
function remembered(load) {
  /** @type {Map<number, Promise<Conv[]>>} */
  const kept = new Map();
  return {
    chunk(number) {
      const known = kept.get(number);
      const chunk = known ?? load(number).then((text) => /** @type {Conv[]} */ (JSON.parse(text)));
      kept.delete(number);
      kept.set(number, chunk);
      chunk.catch(() => kept.delete(number));
      const oldest = kept.keys().next();
      if (kept.size > KEPT_CHUNKS && !oldest.done) kept.delete(oldest.value);
      return chunk;
    },
    forget: () => kept.clear(),
  };
}

/**
 * The base64 of a chunk in a script beside the page.
 * @param {number} number
 * @returns {Promise<string>}
 */
function besideThePage(number) {
  return new Promise((resolve, reject) => {
    const before = window.probityChunk;
    const script = document.createElement("script");
    script.src = `data/chunk-${number}.js`;
    // Scripts run one after the other, each right before its own load event, so the latest data belong to this chunk.
    let data = "";
    window.probityChunk = (given, base64) => {
      if (given === number) data = base64;
      else before?.(given, base64);
    };
    script.addEventListener("load", () => {
      script.remove();
      if (data) resolve(data);
      else reject(new Error(`data/chunk-${number}.js holds no chunk ${number}`));
    });
    script.addEventListener("error", () => {
      script.remove();
      reject(new Error(`data/chunk-${number}.js: not found; keep the folder data beside the page`));
    });
    document.head.append(script);
  });
}

/**
 * The source for a page that is a file.
 * @returns {Source}
 */
function fileSource() {
  /** @param {number} number */
  const base64 = async (number) => {
    const embedded = document.getElementById(`probity-chunk-${number}`);
    return embedded ? (embedded.textContent ?? "") : besideThePage(number);
  };
  const { chunk, forget } = remembered(async (number) => inflate(await base64(number)));
  return {
    live: false,
    chunk,
    packed: async (number) => ({ base64: await base64(number) }),
    forget,
    async index() {
      const embedded = document.getElementById("probity-index");
      if (!embedded) throw new Error("the page holds no data (#probity-index); was it cut off?");
      return JSON.parse(await inflate(embedded.textContent ?? ""));
    },
  };
}

/**
 * The viewer's answer, as text.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<string>}
 */
export async function fromViewer(path, options = {}) {
  const response = await fetch(path, { cache: "no-store", ...options });
  const text = await response.text();
  if (response.ok) return text;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // The answer is not JSON: the status is the message.
  }
  throw new Error(message);
}

/**
 * The source for a page that the viewer serves.
 * @returns {Source}
 */
function servedSource() {
  let version = "";
  /** @param {number} number */
  const chunkText = (number) => fromViewer(`chunk/${number}?v=${encodeURIComponent(version)}`);
  const kept = remembered(chunkText);
  return {
    live: true,
    chunk: kept.chunk,
    packed: async (number) => ({ json: await chunkText(number) }),
    forget(now) {
      version = now;
      kept.forget();
    },
    index: async () => JSON.parse(await fromViewer(`index?v=${encodeURIComponent(version)}`)),
  };
}

/**
 * The source of this page.
 * @returns {Source}
 */
export function openSource() {
  return document.documentElement.dataset["live"] === "1" ? servedSource() : fileSource();
}

/**
 * The conversation of a row.
 * @param {Source} source
 * @param {Row} row
 * @returns {Promise<Conv | undefined>}
 */
export async function conversationOf(source, row) {
  if (row.chunk === undefined || row.at === undefined) return undefined;
  const conv = (await source.chunk(row.chunk))[row.at];
  if (conv && conv.conv_id !== row.conv_id) throw new Error(`the page's chunk ${row.chunk} holds ${conv.conv_id} in place of ${row.conv_id}`);
  return conv;
}
