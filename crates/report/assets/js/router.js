// Addresses: the part after the `#` selects the page, and every page has an address.

/** @import {Route, Filter, Index, Row} from "./types.js" */

const LIST_KEYS = /** @type {const} */ (["model", "metric", "verdict", "variant", "tag", "error", "label"]);
const TEXT_KEYS = /** @type {const} */ (["text", "sort"]);

/**
 * The filter that shows all rows.
 * @param {Partial<Filter>} [some]
 * @returns {Filter}
 */
export function emptyFilter(some = {}) {
  return { model: [], metric: [], verdict: [], variant: [], tag: [], error: [], label: [], text: "", sort: "", ...some };
}

/**
 * Decodes a part of an address. A part with invalid encoding is returned unchanged.
 * @param {string} part
 * @returns {string}
 */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * The route of an address.
 * @param {string} hash
 * @returns {Route}
 */
export function readRoute(hash) {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const [, page = "", first = "", second = "", third = "", ...more] = path.split("/").map(decoded);
  const values = new URLSearchParams(query);
  /** @type {Route} */
  const missing = { page: "missing", address: hash };
  if (more.length > 0 || (path !== "" && !path.startsWith("/"))) return missing;
  // The number of parts after the first.
  const parts = third ? 3 : second ? 2 : first ? 1 : 0;
  switch (page) {
    case "":
      return parts === 0 ? { page: "overview" } : missing;
    case "monitor":
      return parts === 0 ? { page: "monitor" } : missing;
    case "cost":
      return parts === 0 ? { page: "cost" } : missing;
    case "rows": {
      const filter = emptyFilter();
      for (const key of LIST_KEYS) filter[key] = [...new Set(values.getAll(key).filter(Boolean))];
      for (const key of TEXT_KEYS) filter[key] = values.get(key) ?? "";
      return parts === 0 ? { page: "rows", filter } : missing;
    }
    case "t":
      if (parts === 2 || (parts === 3 && second !== "m")) return missing;
      // The rows of a model in a metric: the worst first, which is what the reader of a rate comes for.
      return { page: "rows", filter: emptyFilter({ model: first ? [first] : [], metric: third ? [third] : [], sort: third ? "score" : "" }) };
    case "m":
      return parts > 1 ? missing : { page: "rows", filter: emptyFilter({ metric: first ? [first] : [] }) };
    case "c":
      if (parts !== 1) return missing;
      return {
        page: "conversation",
        id: first,
        run: values.get("run") ?? "",
        metric: values.get("metric") ?? "",
        message: values.get("message") ?? "",
        find: values.get("find") ?? "",
      };
    case "s":
      if (parts !== 1) return missing;
      return { page: "scenario", id: first, benchmark: values.get("benchmark") ?? "", metric: values.get("metric") ?? "", run: values.get("run") ?? "", row: values.get("row") ?? "", pair: values.getAll("of").filter(Boolean).slice(0, 2) };
    case "scenarios":
      return parts === 0 ? { page: "scenarios", metric: values.get("metric") ?? "", benchmark: values.get("benchmark") ?? "" } : missing;
    case "themes":
      return parts === 0 ? { page: "themes", metric: values.get("metric") ?? "" } : missing;
    case "label":
      return parts === 0 ? { page: "label", model: values.get("model") ?? "" } : missing;
    default:
      return missing;
  }
}

/**
 * An address with the values that are not empty. A list is a key for each of its values.
 * @param {string} path
 * @param {Record<string, string | string[]>} values
 * @returns {string}
 */
function address(path, values) {
  const query = Object.entries(values)
    .flatMap(([key, value]) => (Array.isArray(value) ? value.map((one) => [key, one]) : [[key, value]]))
    .filter(([, value]) => value !== "")
    .map(([key = "", value = ""]) => `${key}=${encodeURIComponent(value)}`)
    .join("&");
  return query ? `${path}?${query}` : path;
}

/**
 * The address of a route.
 * @param {Route} route
 * @returns {string}
 */
export function writeRoute(route) {
  switch (route.page) {
    case "rows":
      return address("#/rows", { ...route.filter });
    case "conversation":
      return address(`#/c/${encodeURIComponent(route.id)}`, {
        run: route.run,
        metric: route.metric,
        message: route.message,
        find: route.find,
      });
    case "scenario":
      return address(`#/s/${encodeURIComponent(route.id)}`, { benchmark: route.benchmark, metric: route.metric, run: route.run, row: route.row, of: route.pair });
    case "scenarios":
      return address("#/scenarios", { benchmark: route.benchmark, metric: route.metric });
    case "themes":
      return address("#/themes", { metric: route.metric });
    case "label":
      return address("#/label", { model: route.model });
    case "monitor":
      return "#/monitor";
    case "cost":
      return "#/cost";
    case "overview":
      return "#/";
    case "missing":
      return route.address;
  }
}

/**
 * The address of a row's conversation.
 * @param {Index} index
 * @param {Row} row
 * @param {string} [message] The number of a message in it.
 * @param {string} [find] The text whose places are marked.
 * @returns {string}
 */
export function rowAddress(index, row, message = "", find = "") {
  return writeRoute({
    page: "conversation",
    id: row.conv_id,
    run: index.runs[row.run]?.id ?? "",
    metric: index.metrics[row.metric]?.id ?? "",
    message,
    find,
  });
}
