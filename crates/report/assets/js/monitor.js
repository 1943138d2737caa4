// The page of a run in progress. The viewer computes and renders it; this only puts it in place.
import { byId, el } from "./dom.js";
import { fromViewer } from "./source.js";
import { swap } from "./swap.js";

const ADDRESS = "#/monitor";
// The title of the window without a run.
const plainTitle = document.title;
// Whether the run goes on, as shown last.
let wasRunning = false;

/** The link to the page, which is there from the first run on. */
function addLink() {
  const nav = byId("top").querySelector("nav");
  if (!nav || nav.querySelector(`a[href="${ADDRESS}"]`)) return;
  const here = location.hash === ADDRESS;
  nav.prepend(el("a", here ? { href: ADDRESS, "aria-current": "page" } : { href: ADDRESS }, "Run"));
}

/**
 * Shows the state of the run, as long as one goes on, and once more when it has ended.
 * @param {boolean} running
 */
export async function showMonitor(running) {
  if (!running && !wasRunning && location.hash !== ADDRESS) return;
  addLink();
  try {
    /** @type {{html: string, done: string}} */
    const run = JSON.parse(await fromViewer("monitor"));
    swap(byId("monitor"), run.html);
    document.title = run.done ? `${run.done} · ${plainTitle}` : plainTitle;
    wasRunning = running;
  } catch (error) {
    // The viewer has ended. Other errors, for example a run that has not written its record yet, are asked about again.
    if (error instanceof TypeError) throw error;
  }
}
