// The entry point: reads the data, and shows the page that the address names.
import { byId, el, waysOut } from "./dom.js";
import { ConversationPage } from "./conversation.js";
import { listenToKeys, setKeys, showKeys } from "./keys.js";
import { LabelPage } from "./label.js";
import { LabelStore } from "./labels.js";
import { MatrixPage } from "./matrix.js";
import { follow } from "./live.js";
import { setUpMatrices } from "./rates_matrix.js";
import { readRoute, writeRoute } from "./router.js";
import { RowsPage } from "./rows.js";
import { hasScenarios, ScenariosPage } from "./scenarios.js";
import { openSource } from "./source.js";
import { visible } from "./text.js";
import { ThemesPage } from "./themes.js";

/** @import {Route} from "./types.js" */

const SECTIONS = /** @type {const} */ (["monitor", "overview", "cost", "rows", "conversation", "scenario", "scenarios", "themes", "label", "missing"]);
/** The scroll position of each address in the history. @type {Map<string, number>} */
const places = new Map();

/**
 * Shows one section, and marks it in the navigation.
 * @param {Route["page"]} page
 */
function showSection(page) {
  for (const name of SECTIONS) byId(name).hidden = name !== page;
  document.documentElement.dataset["page"] = page;
  const at = page === "overview" ? "#/" : page === "scenario" ? "#/scenarios" : ["conversation", "themes"].includes(page) ? "#/rows" : `#/${page}`;
  for (const link of byId("top").querySelectorAll("nav a")) {
    if (link.getAttribute("href") === at) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/**
 * The route of an address. An address without a `/` names an element of the overview or of the costs, as in any HTML page.
 * @param {string} hash
 * @returns {Route}
 */
function routeOf(hash) {
  const route = readRoute(hash);
  if (route.page === "monitor" && !document.documentElement.dataset["live"]) return { page: "missing", address: hash };
  const part = route.page === "missing" ? document.getElementById(hash.slice(1)) : null;
  const of = part?.closest("#overview, #cost");
  return of ? { page: of.id === "cost" ? "cost" : "overview" } : route;
}

/**
 * Shows that an address has no page.
 * @param {string} address
 */
function showMissing(address) {
  const heading = el("h2", { tabindex: "-1" }, "No such page");
  byId("missing").replaceChildren(heading, el("p", {}, "This report has no page ", el("code", {}, visible(address)), "."), waysOut());
  heading.focus({ preventScroll: true });
}

/**
 * The shortcuts of pages that set no shortcuts themselves.
 * @returns {import("./types.js").Key[]}
 */
function plainKeys() {
  return [
    { key: "r", does: "rows", run: () => (location.hash = "#/rows") },
    { key: "/", does: "search in transcripts", run: () => {
      location.hash = "#/rows";
      // The field is on the page of rows, which is shown by the event of the new address.
      setTimeout(() => document.getElementById("filter-text")?.focus());
    } },
  ];
}

/** Starts the page. */
async function start() {
  document.documentElement.classList.add("js");
  for (const [id, label] of [["themes", "Themes"], ["scenarios", "Scenarios"], ["scenario", "Scenario"]]) byId("conversation").after(el("section", { id, "aria-label": label, hidden: true }));
  history.scrollRestoration = "manual";
  listenToKeys();
  setUpMatrices();
  const source = openSource();
  const rows = new RowsPage(source, go);
  const store = new LabelStore(source);
  const conversation = new ConversationPage(
    source,
    store,
    () => rows.table.numbers,
    (number) => (rows.current = number),
    () => writeRoute({ page: "rows", filter: rows.filter }),
  );
  const matrix = new MatrixPage(source);
  const scenarios = new ScenariosPage();
  const themes = new ThemesPage(source);
  const label = new LabelPage(source, store, go);
  let shown = "";

  /**
   * Goes to a route. With `replace`, the history gets no new entry.
   * @param {Route} route
   * @param {boolean} replace
   */
  function go(route, replace) {
    if (replace) history.replaceState(history.state, "", writeRoute(route));
    else history.pushState(null, "", writeRoute(route));
    show();
  }

  /** Shows the page of the address. */
  function show() {
    if (shown) places.set(shown, window.scrollY);
    const known = history.state?.seen === true;
    shown = location.hash;
    const route = routeOf(shown);
    rows.leave();
    showSection(route.page);
    setKeys(plainKeys());
    // A page from the history is shown at its old scroll position. A new page begins at its top, or at its message.
    const at = shown;
    const scroll = () => {
      if (at !== shown || (route.page === "conversation" && route.message && !known)) return;
      const part = at.startsWith("#/") ? null : document.getElementById(at.slice(1));
      if (part && !known) part.scrollIntoView();
      else window.scrollTo(0, known ? (places.get(at) ?? 0) : 0);
    };
    if (route.page === "missing") showMissing(route.address);
    if (route.page === "rows") rows.show(route.filter);
    else if (route.page === "conversation") void conversation.show(route).then(scroll);
    else if (route.page === "scenario") matrix.show(route);
    else if (route.page === "scenarios") scenarios.show(route);
    else if (route.page === "themes") void themes.show(route.metric);
    else if (route.page === "label") void label.show(route.model).then(scroll);
    if (route.page !== "conversation") scroll();
    history.replaceState({ seen: true }, "");
  }

  /** Reads the data and shows them. */
  async function load() {
    const index = await source.index();
    rows.setIndex(index);
    conversation.setIndex(index);
    matrix.setIndex(index);
    scenarios.setIndex(index);
    themes.setIndex(index);
    label.setIndex(index);
    byId("top").classList.toggle("no-labels", !label.offered());
    byId("top").classList.toggle("no-scenarios", !hasScenarios(index));
  }

  const help = el("button", { type: "button", class: "help", title: "Keys (?)", "aria-label": "Keys" }, "?");
  help.addEventListener("click", showKeys);
  byId("top").append(help);
  window.addEventListener("hashchange", show);
  // A filter's entry in the history has its own address, but causes no `hashchange` event.
  window.addEventListener("popstate", () => {
    if (location.hash !== shown) show();
  });
  // A link to the current address causes no event, but the reader may have scrolled away.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#/']") : null;
    if (!link || link.getAttribute("href") !== location.hash || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(null, "");
    show();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!source.live && store.unsaved.size > 0) event.preventDefault();
  });
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("main section:not([hidden]) details")) details.dispatchEvent(new Event("probity-print"));
  });
  // During a run, the page begins with it.
  if (document.documentElement.dataset["running"] && location.hash === "") history.replaceState(null, "", "#/monitor");
  showSection(routeOf(location.hash).page);
  try {
    await (source.live ? follow(source, load) : load());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const told = typeof DecompressionStream === "undefined" ? "this browser cannot open compressed data (DecompressionStream): only the overview is shown" : message;
    byId("rows").before(el("p", { class: "note error", role: "alert" }, `error: ${told}`));
    if (!source.live) return;
  }
  show();
}

void start();
