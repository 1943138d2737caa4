// The matrix of metrics and models: a filter, an order, folded rows and columns, and one tab stop with arrow keys inside.
import { el, say } from "./dom.js";

/**
 * The rows that are shown, without the one of all metrics.
 * @param {HTMLTableElement} table
 * @returns {HTMLTableRowElement[]}
 */
function metricRows(table) {
  const body = table.tBodies[0];
  return body ? [...body.rows].filter((row) => !row.classList.contains("all")) : [];
}

/**
 * The cells with links that can be seen, row by row.
 * @param {HTMLTableElement} table
 * @returns {HTMLAnchorElement[][]}
 */
function linkRows(table) {
  /** @type {HTMLAnchorElement[][]} */
  const found = [];
  for (const row of table.tBodies[0]?.rows ?? []) {
    if (row.hidden || row.offsetParent === null) continue;
    /** @type {HTMLAnchorElement[]} */
    const links = [];
    for (const link of row.querySelectorAll("td a")) {
      if (link instanceof HTMLAnchorElement && link.offsetParent !== null) links.push(link);
    }
    if (links.length > 0) found.push(links);
  }
  return found;
}

/**
 * Moves the tab stop to a cell.
 * @param {HTMLTableElement} table
 * @param {HTMLAnchorElement | undefined} link
 */
function setStop(table, link) {
  for (const other of table.querySelectorAll("td a[tabindex='0']")) other.setAttribute("tabindex", "-1");
  link?.setAttribute("tabindex", "0");
}

/**
 * The cell that an arrow key leads to.
 * @param {HTMLTableElement} table
 * @param {EventTarget | null} from
 * @param {string} key
 * @returns {HTMLAnchorElement | undefined}
 */
function stepped(table, from, key) {
  const rows = linkRows(table);
  const row = rows.findIndex((links) => links.some((link) => link === from));
  if (row < 0) return undefined;
  const column = rows[row]?.findIndex((link) => link === from) ?? 0;
  switch (key) {
    case "ArrowUp":
      return rows[row - 1]?.[column];
    case "ArrowDown":
      return rows[row + 1]?.[column];
    case "ArrowLeft":
      return rows[row]?.[column - 1];
    case "ArrowRight":
      return rows[row]?.[column + 1];
    case "Home":
      return rows[row]?.[0];
    case "End":
      return rows[row]?.at(-1);
    default:
      return undefined;
  }
}

/**
 * Orders the metrics.
 * @param {HTMLTableElement} table
 * @param {string} by
 * @param {HTMLTableRowElement[]} listed The order in which the page came.
 */
function sortRows(table, by, listed) {
  const name = (/** @type {HTMLTableRowElement} */ row) => row.cells[0]?.textContent ?? "";
  const spread = (/** @type {HTMLTableRowElement} */ row) => Number(row.dataset["spread"]);
  const rows = [...listed];
  if (by === "name") rows.sort((a, b) => name(a).localeCompare(name(b)));
  else if (by === "narrow") rows.sort((a, b) => spread(a) - spread(b));
  table.tBodies[0]?.append(...rows);
}

/**
 * A button that shows what is folded, and folds it again.
 * @param {HTMLTableElement} table
 * @param {string} name The class of the table with everything shown.
 * @param {string} what
 * @returns {HTMLElement}
 */
function unfoldButton(table, name, what) {
  const button = el("button", { type: "button", "aria-pressed": "false" }, `Show all ${what}`);
  button.addEventListener("click", () => {
    const all = table.classList.toggle(name);
    button.setAttribute("aria-pressed", String(all));
    setStop(table, linkRows(table)[0]?.[0]);
  });
  return button;
}

/**
 * Shows or folds the column of a model.
 * @param {HTMLTableElement} table
 * @param {number} place The place of the column in the head.
 * @param {boolean} isPinned
 */
function pinColumn(table, place, isPinned) {
  for (const row of table.rows) row.cells[place]?.classList.toggle("pinned", isPinned);
}

/**
 * A field that adds a folded model to the open columns by its name, and buttons that fold it again.
 * @param {HTMLTableElement} table
 * @returns {HTMLElement[]}
 */
function modelField(table) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  /** @type {Map<string, number>} */
  const foldedModels = new Map(heads.flatMap((head, place) => (head.classList.contains("fold") ? [[head.textContent ?? "", place]] : [])));
  const names = el("datalist", { id: `${table.id}-models` }, [...foldedModels.keys()].map((name) => el("option", { value: name })));
  const field = el("input", { type: "search", list: names.id, placeholder: "Add a model", "aria-label": "Add a model", autocomplete: "off", size: "16" });
  const chips = el("span", { class: "pinned-models" });
  /** The only model that a text names, in full or in part. @param {string} text */
  const named = (text) => {
    const wanted = text.trim().toLowerCase();
    const all = [...foldedModels.keys()];
    const found = all.filter((name) => name.toLowerCase() === wanted);
    const like = found.length > 0 || wanted === "" ? found : all.filter((name) => name.toLowerCase().includes(wanted));
    return like.length === 1 ? like[0] : undefined;
  };
  /** @param {string} name */
  const add = (name) => {
    const place = foldedModels.get(name);
    field.value = "";
    if (place === undefined || heads[place]?.classList.contains("pinned")) return;
    pinColumn(table, place, true);
    const chip = el("button", { type: "button", "aria-label": `Fold ${name}` }, `${name} ×`);
    chip.addEventListener("click", () => {
      pinColumn(table, place, false);
      chip.remove();
      field.focus();
      setStop(table, linkRows(table)[0]?.[0]);
    });
    chips.append(chip);
  };
  // A choice from the list is a whole name; a part of a name counts when the person ends it with Enter.
  field.addEventListener("input", () => foldedModels.has(field.value) && add(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const name = named(field.value);
    if (name !== undefined) add(name);
    else if (field.value.trim()) say(`${field.value.trim()}: no folded model, or several`);
  });
  return [field, names, chips];
}

/**
 * Adds tools and keys to a matrix.
 * @param {HTMLTableElement} table
 */
function setUpMatrix(table) {
  const listed = metricRows(table);
  const tools = el("div", { class: "mtools" });
  if (listed.length > 3) {
    const filter = el("input", { type: "search", placeholder: "Filter metrics", "aria-label": "Filter metrics", size: "16" });
    filter.addEventListener("input", () => {
      const wanted = filter instanceof HTMLInputElement ? filter.value.trim().toLowerCase() : "";
      table.classList.toggle("all-rows", wanted !== "");
      for (const row of listed) row.hidden = !(row.cells[0]?.textContent ?? "").toLowerCase().includes(wanted);
      setStop(table, linkRows(table)[0]?.[0]);
    });
    const order = el("select", { "aria-label": "Order of the metrics" },
      el("option", { value: "wide" }, "widest spread first"), el("option", { value: "narrow" }, "narrowest first"), el("option", { value: "name" }, "by name"));
    order.addEventListener("change", () => sortRows(table, order instanceof HTMLSelectElement ? order.value : "", listed));
    tools.append(filter, order);
  }
  if (table.querySelector("tr.fold")) tools.append(unfoldButton(table, "all-rows", `${listed.length} metrics`));
  const columns = table.tHead?.rows[0]?.cells.length ?? 0;
  if (table.querySelector("th.fold")) tools.append(...modelField(table), unfoldButton(table, "all-columns", `${columns - 2} models`));
  if (tools.childElementCount > 0) table.parentElement?.before(tools);
  setStop(table, linkRows(table)[0]?.[0]);
  table.addEventListener("keydown", (event) => {
    const next = stepped(table, event.target, event.key);
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setStop(table, next);
    next.focus();
  });
}

/** Sets up the matrices of the overview. */
export function setUpMatrices() {
  for (const table of document.querySelectorAll("table.mx")) {
    if (table instanceof HTMLTableElement) setUpMatrix(table);
  }
}
