// Follows a run in the viewer: when the files of the run change, overview, rows and labels are read again.
import { byId, el } from "./dom.js";
import { showMonitor } from "./monitor.js";
import { fromViewer } from "./source.js";
import { swap } from "./swap.js";

/** @import {Source} from "./types.js" */

/**
 * The state of the viewer.
 * @typedef {object} State
 * @property {string} version
 * @property {boolean} running
 * @property {boolean} [pending] Whether figures of saved labels are still missing in this version.
 * @property {string} [error] Why the files could not be read again. The viewer then serves an older version.
 */

const EVERY_MS = 2_000;
// The interval after an answer in this page, until its figures are available.
const SOON_MS = 400;

/** @returns {Promise<State>} */
async function askState() {
  return JSON.parse(await fromViewer("state"));
}

/**
 * Reads the data of the viewer's current version, and reads them again for each newer version.
 * @param {Source} source
 * @param {() => Promise<void>} load Reads the index.
 */
export async function follow(source, load) {
  const sign = el("span", { id: "live", role: "status" });
  byId("top").append(sign);
  // The button for the list of keys stays at the edge.
  const help = byId("top").querySelector(".help");
  if (help) byId("top").append(help);
  /** @param {string} text @param {string} name */
  const tell = (text, name) => {
    // Screen readers would read an assigned text out again, even if it is the same.
    if (sign.textContent !== text) sign.textContent = text;
    sign.className = name;
  };
  // The versions of the overview and of the index. The page came with an overview, but without an index.
  let overview = document.documentElement.dataset["version"] ?? "";
  let version = "";
  // Whether the figures of an answer given here are not shown yet.
  let awaited = false;
  const ask = async () => {
    const state = await askState();
    await showMonitor(state.running);
    if (state.version !== version) {
      source.forget(state.version);
      if (state.version !== overview) {
        /** @type {{overview: string, cost: string}} */
        const parts = JSON.parse(await fromViewer(`overview?v=${encodeURIComponent(state.version)}`));
        swap(byId("overview"), parts.overview);
        swap(byId("cost"), parts.cost);
        overview = state.version;
      }
      await load();
      version = state.version;
    }
    awaited &&= state.pending === true;
    if (state.error) tell(`not up to date: ${state.error}`, "stopped");
    // During a run, the figures of labels are not updated until the run has ended.
    else if (state.running) tell("running", "running");
    else tell(awaited ? "answer saved, figures follow" : "", "");
  };
  let timer = 0;
  let asking = false;
  const again = async () => {
    if (asking) return;
    asking = true;
    clearTimeout(timer);
    try {
      await ask();
    } catch (error) {
      // A TypeError means that the viewer did not answer, so it has ended. Other errors need no message, for example a version that no
      // longer exists: the page asks again.
      if (error instanceof TypeError) {
        awaited = false;
        tell("the viewer has ended; this is what it showed last", "stopped");
      }
    }
    asking = false;
    timer = setTimeout(() => void again(), awaited ? SOON_MS : EVERY_MS);
  };
  window.addEventListener("probity-labelled", () => {
    awaited = true;
    tell("answer saved, figures follow", "");
    void again();
  });
  timer = setTimeout(() => void again(), EVERY_MS);
  await ask();
}
