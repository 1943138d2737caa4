// The data of the page, as crates/report/src/html/data.rs writes them. Types only: no part of the page's script.

export type Verdict = "pass" | "fail" | "none" | "pending";

export interface Run {
  id: string;
  benchmark: string;
  target: string;
  model?: string;
  source?: string;
  kind: "benchmark" | "safety";
  state: "complete" | "partial";
  /** User messages that each conversation was to have. */
  turns?: number;
  /** The command that repeats the run of this target. */
  rerun?: string;
  /** Whether `--force-row CONV_ID` may follow it, to call for one row again. */
  rerun_row?: boolean;
  /** Rows in the order in which a person should label them. Absent where there is nothing to label. */
  label_order?: number[];
  corrected_width?: number;
  judge_width?: number;
  /** The pass rate in each metric with its interval, as tables show it, by the number of the metric. */
  rates?: Record<number, string>;
}

export interface Metric {
  id: string;
  name: string;
  type: "positive" | "negative";
  benchmark: string;
  definition: string;
  examples?: string[];
  counterexamples?: string[];
  /** What judges answer in place of yes or no, in words. */
  answers?: string;
  /** The test of the replies that decides it in place of judges. */
  check?: string;
  /** The points from the lowest to the highest value of its scale. */
  span?: number;
  hazard?: string;
}

export interface RowLabel {
  labeller: string;
  /** Null: the person found it unclear. */
  passed: boolean | null;
  note?: string;
}

export interface Row {
  conv_id: string;
  run: number;
  metric: number;
  scenario: string;
  base: string;
  title?: string;
  sample: number;
  variant?: Record<string, string>;
  tags?: string[];
  verdict: Verdict;
  reason?: string;
  shown?: string;
  /** The score, if it is a number other than of a yes or no. */
  score?: number;
  /** The start of the reason of a judge that decided as the row says. */
  said?: string;
  /** Of a panel: how many judges say pass, how many say fail. */
  votes?: [number, number];
  /** How far apart the answers of a panel are, where they are more than yes and no: points of a scale, or a share of judges. */
  spread?: number;
  /** The judges of a panel that decided otherwise, and the start of the first one's reason. */
  dissent?: { judges: string[]; said?: string };
  error?: string;
  faults?: string[];
  incomplete?: boolean;
  /** Whether a reply was cut off. */
  cut?: boolean;
  split?: boolean;
  labels?: RowLabel[];
  turns: number;
  /** Why there are fewer than planned. */
  ended?: string;
  preview: string;
  /** Where the conversation is; absent where the page does not hold it. */
  chunk?: number;
  at?: number;
}

export interface Index {
  format: string;
  title: string;
  program: string;
  kept: "all" | "notable" | "none";
  total_rows: number;
  /** Which rows the page holds, in words. Absent: all, or those that `kept` says. */
  chosen?: string;
  chunks: number;
  runs: Run[];
  metrics: Metric[];
  rows: Row[];
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

export interface Message {
  role: string;
  turn: number;
  text: string;
  reasoning?: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  name?: string;
  finish?: string;
  model?: string;
  tokens_in?: number;
  tokens_out?: number;
  seconds?: number;
  cost?: number;
  cached?: boolean;
}

export interface Quote {
  /** Index in the messages of the conversation. */
  message: number;
  text: string;
}

export interface JudgeVerdict {
  judge: string;
  verdict: Verdict;
  shown?: string;
  justification: string;
  quotes?: Quote[];
}

export interface Score {
  metric: number;
  verdict: Verdict;
  shown?: string;
  reason?: string;
  justification: string;
  error?: string;
  quotes?: Quote[];
  judges?: JudgeVerdict[];
  model?: string;
  tokens_in?: number;
  tokens_out?: number;
  seconds?: number;
  cost?: number;
}

/** How real a conversation is, as judges see it. */
export interface Realism {
  suspects_test: boolean | null;
  user_realism: number | null;
  judges: RealismJudge[];
}

export interface RealismJudge {
  judge: string;
  suspects_test: boolean | null;
  user_realism: number | null;
  reason: string;
  quotes?: Quote[];
}

export interface Fault {
  turn: number;
  kind: string;
  text?: string;
  retried?: boolean;
}

export interface Scenario {
  id: string;
  title?: string;
  persona?: string;
  user_goal?: string;
  hidden_goal?: string;
  landmarks?: { turn: number; text: string }[];
  demographic?: unknown;
  world_state?: unknown;
}

export interface Conv {
  conv_id: string;
  run: number;
  scenario: Scenario;
  system_prompt?: string;
  messages: Message[];
  scores: Score[];
  realism?: Realism;
  faults?: Fault[];
  error?: string;
  cost?: number;
  /** What a label of this conversation carries as `_transcript`. */
  transcript?: string;
}

/** A label as `labels.json` has it. */
export interface HumanLabel {
  conv_id: string;
  metric_id: string;
  passed: boolean | null;
  labeller: string;
  note?: string;
  _transcript?: string;
}

/** The conversations of a chunk as JSON, as it is or as gzip in base64. */
export type Packed = { json: string } | { base64: string };

/** Where index and conversations come from: the page itself, files beside it, or the viewer. */
export interface Source {
  live: boolean;
  index(): Promise<Index>;
  chunk(number: number): Promise<Conv[]>;
  /** A chunk as it is stored, to look for a text without parsing all conversations. */
  packed(number: number): Promise<Packed>;
  /** Forgets what it keeps: the viewer has a new version. */
  forget(version: string): void;
}

/** Which rows are shown. An empty list or text: all. */
export interface Filter {
  model: string[];
  metric: string[];
  verdict: string[];
  variant: string[];
  tag: string[];
  error: string[];
  label: string[];
  text: string;
  sort: string;
}

export interface ConversationRoute {
  page: "conversation";
  id: string;
  run: string;
  metric: string;
  /** The number of the message to show, as judges count: from 1. Empty: none. */
  message: string;
  /** The text whose places are marked. Empty: none. */
  find: string;
}

/** A scenario in all models. */
export interface ScenarioRoute {
  page: "scenario";
  /** The scenario without its variant. */
  id: string;
  benchmark: string;
  metric: string;
  /** The run and the conversation of the cell to start at. */
  run: string;
  row: string;
  /** The ids of two runs whose answers are compared. Empty: the answers of all. */
  pair: string[];
}

/** The scenarios of a metric. */
export interface ScenariosRoute {
  page: "scenarios";
  /** The metric and its benchmark; empty for the first. */
  metric: string;
  benchmark: string;
}

export type Route =
  | { page: "overview" }
  /** The run in progress, in the viewer. */
  | { page: "monitor" }
  | { page: "cost" }
  | { page: "rows"; filter: Filter }
  | ConversationRoute
  | ScenarioRoute
  | ScenariosRoute
  | { page: "themes"; metric: string }
  | { page: "label"; model: string }
  /** An address that nothing has. */
  | { page: "missing"; address: string };

export interface Key {
  key: string;
  does: string;
  run: () => void;
}

declare global {
  interface Window {
    probityChunk?: (number: number, data: string) => void;
  }
}
