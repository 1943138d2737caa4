// Labels that a person gives in this page. The viewer saves them; a page in a file keeps them for download.
import { fromViewer } from "./source.js";

/** @import {HumanLabel, Index, Row, Source} from "./types.js" */

const NAME_KEY = "probity-labeller";

/**
 * A value from the browser's storage; empty if the browser does not allow storage.
 * @param {string} key
 * @returns {string}
 */
function kept(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

/**
 * @param {string} key
 * @param {string} value
 * @returns {boolean} False if storage is not allowed or is full. Then only the page's memory has the value.
 */
function keep(key, value) {
  try {
    localStorage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/**
 * A list from the browser's storage; empty if there is none.
 * @param {string} key
 * @returns {any[]}
 */
function keptList(key) {
  try {
    const list = JSON.parse(kept(key) || "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/**
 * The key of one person's verdict on one metric of one conversation.
 * @param {{conv_id: string, metric_id: string, labeller: string}} label
 * @returns {string}
 */
function labelKey(label) {
  return JSON.stringify([label.conv_id, label.metric_id, label.labeller]);
}

/** The labels of each run. */
export class LabelStore {
  /**
   * @param {Source} source
   */
  constructor(source) {
    this.source = source;
    /** Labels by run, then by row and person. @type {Map<string, Map<string, HumanLabel>>} */
    this.labels = new Map();
    /** Runs with answers that are lost when the page is closed. @type {Set<string>} */
    this.unsaved = new Set();
    /** Answers that were downloaded, as JSON. @type {Set<string>} */
    this.inFile = new Set(keptList(this.downloadedKey()));
    this.labeller = document.documentElement.dataset["labeller"] ?? kept(NAME_KEY);
  }

  /** @param {string} name */
  setLabeller(name) {
    this.labeller = name;
    keep(NAME_KEY, name);
  }

  /**
   * The storage key of the answers given in this page.
   * @param {string} run
   */
  storageKey(run) {
    return `probity-labels ${location.pathname} ${run}`;
  }

  /** The storage key of the answers that were downloaded from this page. */
  downloadedKey() {
    return `probity-downloaded ${location.pathname}`;
  }

  /**
   * The number of answers given in this page that were not downloaded yet.
   * @param {string[]} runs
   * @returns {number}
   */
  fresh(runs) {
    return this.given(runs).filter((label) => !this.inFile.has(JSON.stringify(label))).length;
  }

  /**
   * Marks the answers of runs as downloaded.
   * @param {string[]} runs
   */
  downloaded(runs) {
    for (const label of this.given(runs)) this.inFile.add(JSON.stringify(label));
    keep(this.downloadedKey(), JSON.stringify([...this.inFile]));
    for (const run of runs) this.unsaved.delete(run);
  }

  /**
   * The labels of a run.
   * @param {string} run
   * @returns {Map<string, HumanLabel>}
   */
  of(run) {
    let labels = this.labels.get(run);
    if (!labels) this.labels.set(run, (labels = new Map()));
    return labels;
  }

  /**
   * Reads the labels of a run. Answers about an earlier run with the same names are left out.
   * @param {Index} index
   * @param {string} run
   * @returns {Promise<number>} The number of answers that were left out.
   */
  async load(index, run) {
    if (this.source.live) {
      this.take(run, JSON.parse(await fromViewer(`labels?run=${encodeURIComponent(run)}`)));
      return 0;
    }
    if (this.labels.has(run)) return 0;
    const labels = this.of(run);
    /** @type {Map<string, Row>} */
    const rows = new Map();
    for (const row of index.rows) {
      const metric = index.metrics[row.metric]?.id ?? "";
      if (index.runs[row.run]?.id !== run) continue;
      rows.set(JSON.stringify([row.conv_id, metric]), row);
      for (const given of row.labels ?? []) {
        const label = { conv_id: row.conv_id, metric_id: metric, ...given };
        labels.set(labelKey(label), label);
      }
    }
    let left = 0;
    for (const label of /** @type {HumanLabel[]} */ (keptList(this.storageKey(run)))) {
      const row = rows.get(JSON.stringify([label.conv_id, label.metric_id]));
      const conv = row?.chunk === undefined ? undefined : (await this.source.chunk(row.chunk))[row.at ?? -1];
      if (conv && (conv.transcript === undefined || conv.transcript === label._transcript)) {
        labels.set(labelKey(label), label);
      } else {
        left += 1;
      }
    }
    return left;
  }

  /**
   * This person's label of a row.
   * @param {string} run
   * @param {string} conv
   * @param {string} metric
   * @returns {HumanLabel | undefined}
   */
  mine(run, conv, metric) {
    return this.of(run).get(labelKey({ conv_id: conv, metric_id: metric, labeller: this.labeller }));
  }

  /**
   * Saves a label.
   * @param {string} run
   * @param {HumanLabel} label
   */
  async put(run, label) {
    if (this.source.live) {
      await this.change("PUT", run, label);
      return;
    }
    this.of(run).set(labelKey(label), label);
    this.remember(run);
  }

  /**
   * Removes a label.
   * @param {string} run
   * @param {HumanLabel} label
   */
  async remove(run, label) {
    if (this.source.live) {
      const { conv_id, metric_id, labeller } = label;
      await this.change("DELETE", run, { conv_id, metric_id, labeller });
      return;
    }
    this.of(run).delete(labelKey(label));
    this.remember(run);
  }

  /**
   * Saves a change in the viewer, and replaces the run's labels by the viewer's answer, because others may label at the same time.
   * @param {string} method
   * @param {string} run
   * @param {object} label
   */
  async change(method, run, label) {
    const answer = await fromViewer("label", { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ run, ...label }) });
    this.take(run, JSON.parse(answer).labels);
    // Agreement and corrected rates change, too. The page requests them at once.
    window.dispatchEvent(new Event("probity-labelled"));
  }

  /**
   * @param {string} run
   * @param {HumanLabel[]} labels
   */
  take(run, labels) {
    this.labels.set(run, new Map(labels.map((label) => [labelKey(label), label])));
  }

  /** @param {string} run */
  remember(run) {
    if (!keep(this.storageKey(run), JSON.stringify(this.given([run])))) this.unsaved.add(run);
  }

  /**
   * The labels that were given in this page: they carry the digest of the transcript. Labels that came with the page are already in files.
   * @param {string[]} runs
   * @returns {HumanLabel[]}
   */
  given(runs) {
    return runs.flatMap((run) => [...this.of(run).values()].filter((label) => label._transcript !== undefined));
  }
}
