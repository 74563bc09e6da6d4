// The data that crates/report embeds in the page; crates/report/src/page.rs and its neighbours
// define the same in Rust.

/** Version of the schema that this page reads. */
export const SCHEMA = 8;

export type Verdict = "good" | "overloaded" | "dropped-call" | "failed";

export interface Page {
  schema: number;
  /** Minimum numbers of runs for an interval of the mean, one of the median, and a line. */
  least: { mean: number; median: number; line: number };
  about: About;
  factors: Factor[];
  cells: Cell[];
  runs: Runs;
  troubles: Trouble[];
  measures: Measure[];
  scatters: Scatter[];
  factorial: Factorial[];
  /** `null` where cells are not repeated until they are precise. */
  precision: Precision | null;
  literature: Figure[];
  /** `null` where no run has a loss event. */
  losses: Losses | null;
  sequences: { plots: PackedSequence[]; notes: string[] };
  links: Links;
  overloaded: boolean;
}

export interface About {
  name: string;
  title: string;
  description: string;
  plan_file: string;
  plan_text: string;
  lasthop: string;
  kernel: string;
  /** `null` where it is not known, or not one. */
  clock: "real" | "virtual" | null;
  clock_words: string;
  /** Empty where it is not known, or makes no difference (the virtual clock). */
  machine: string;
  seed: string;
  /** 0 and `null` likewise. */
  started_ms: number;
  ended_ms: number | null;
  planned: number;
  /** The part of the campaign, such as `3/8`; empty if it is all of it. */
  shard: string;
  repetitions: number;
  links: { name: string; direction: string; profile: string; cells: number[] }[];
}

export interface Factor {
  name: string;
  title: string;
  levels: string[];
}

export interface Cell {
  number: number;
  label: string;
  /** Index of the level, for each factor. */
  levels: (number | null)[];
}

export interface Runs {
  cell: number[];
  repetition: number[];
  verdict: Verdict[];
  seconds: number[];
}

export interface Trouble {
  cell: number;
  label: string;
  repetition: number;
  verdict: Verdict;
  reasons: string[];
}

export interface Measure {
  workload: string;
  /** Whether runs end without waiting for it. */
  background: boolean;
  metric: string;
  title: string;
  unit: string;
  /** For each run. */
  values: (number | null)[];
  good: Statistics;
  all: Statistics | null;
}

export interface Statistics {
  /** For each cell. */
  cells: (CellStatistics | null)[];
  tests: Test[];
}

export interface Interval {
  low: number;
  high: number;
  confidence: number;
}

export interface CellStatistics {
  count: number;
  min: number;
  q1: number;
  median: number;
  q3: number;
  max: number;
  mean: number;
  standard_deviation: number | null;
  median_interval: Interval | null;
  mean_interval: Interval | null;
}

export type Magnitude = "negligible" | "small" | "medium" | "large";

export interface Test {
  factor: number;
  first: number;
  second: number;
  p: number;
  corrected: number;
  a12: number;
  magnitude: Magnitude;
  /** Whether so few values cannot show a significant difference. */
  too_few: boolean;
}

export interface Scatter {
  /** Indices of the measures. */
  x: number;
  y: number;
  good: Drawn[];
  all: Drawn[] | null;
}

/** Cells with the line through their runs, if there is one. */
export interface Drawn {
  factor: number | null;
  cells: number[];
  points: number;
  line: Line | null;
}

export interface Coefficient {
  value: number;
  interval: Interval | null;
}

export interface Line {
  slope: Coefficient;
  intercept: Coefficient;
  r_squared: number | null;
  points: number;
}

/** The rule by which cells are repeated, and where each stopped. */
export interface Precision {
  /** The rule in words. */
  rule: string;
  /** Unit of means and intervals; empty for ratios. */
  unit: string;
  /** Least and largest number of repetitions. */
  least: number;
  most: number;
  /** Empty if the campaign was interrupted. */
  stops: StoppedCell[];
}

export interface StoppedCell {
  cell: number;
  repetitions: number;
  mean: number | null;
  low: number | null;
  high: number | null;
  /** Distance of the ends from the mean, as a share of the mean. */
  half_width: number | null;
  reached: boolean;
  notes: string[];
}

/** A factorial analysis of the plan. */
export interface Factorial {
  title: string;
  /** Each factor with its two levels. */
  factors: [string, [string, string]][];
  /** Levels of factors that are not analysed; empty if there are none. */
  fixed: string;
  /** Whether the response is a logarithm. */
  log: boolean;
  good: FactorialOutcome;
  all: FactorialOutcome | null;
}

/** An analysis, or why there is none. */
export interface FactorialOutcome {
  analysis: FactorialAnalysis | null;
  why: string;
}

export interface FactorialAnalysis {
  workload: string;
  unit: string;
  response: string;
  repetitions: number;
  mean: Coefficient;
  /** The largest share first. */
  effects: FactorialEffect[];
  main_share: number;
  interaction_share: number;
  /** `null` with one repetition. */
  error_share: number | null;
  notes: string[];
}

/** A factor, or an interaction of factors. */
export interface FactorialEffect {
  factors: string[];
  share: number;
  effect: number;
  interval: Interval | null;
  significant: boolean | null;
  /** For a logarithm, the factor between the two levels. */
  factor?: number;
}

export interface Range {
  low: number;
  high: number;
}

export interface Figure {
  id: string;
  title: string;
  source: string;
  metric: string;
  statistic: string;
  of: string;
  against: string;
  ours: Range | null;
  published: Range;
  within: boolean;
  unit: string;
  workload: string;
  cells: { cell: number; range: Range; runs: number }[];
  note: string;
}

/** True causes of losses, in display order. */
export const CAUSES = ["wireless", "congestion", "outage", "mixed", "none"] as const;
export type Cause = (typeof CAUSES)[number];

/** Causes that a sender can assume for a loss. */
export const TAKEN = ["wireless", "congestion"] as const;
export type Taken = (typeof TAKEN)[number];

/** How losses were classified. */
export interface Losses {
  /** Differences that the entries of `bins` count; the first and last include all beyond. */
  differences: number[];
  good: CountedLosses;
  all: CountedLosses | null;
}

export interface CountedLosses {
  cells: LossGroup[];
  /** For each factor. */
  levels: LossGroup[][];
  together: LossGroup[];
}

export interface LossGroup {
  /** Index of the cell or level. */
  at: number | null;
  congestion_control: string;
  /** Number of connections examined. */
  connections: number;
  causes: LossesOfCause[];
  counts: LossCounts | null;
}

export interface Share {
  of: number;
  all: number;
  value: number | null;
  interval: Interval | null;
}

export interface LossesOfCause extends Record<Taken, Share> {
  cause: Cause;
  unjudged: number;
  timeouts: number;
  reductions: number;
}

/** Lost segments as senders counted them, minus the true number. */
export interface LossCounts {
  right: Share;
  mean: number;
  least: number;
  greatest: number;
  bins: number[];
  shares: number[];
}

/** Loss events of a sender; each list has one entry per event. */
export interface PackedEvents {
  time: number[];
  kind: ("recovery" | "timeout" | "reduction")[];
  cause: Cause[];
  n: (number | null)[];
  lost: number[];
  verdict: (Taken | null)[];
  reason: ("detector" | "no-sample" | "timeout" | "local" | null)[];
  rtt_us: (number | null)[];
  mean_ns: (number | null)[];
  cwnd: number[];
  ssthresh: (number | null)[];
}

/** Times and many numbers as differences: see sequence/unpack.ts. */
export interface PackedSequence {
  run: number;
  connection: string;
  thinned: string;
  segments: { time: number[]; first: number[]; length: number[]; kind: string };
  acks: { time: number[]; ack: number[]; window: number[]; duplicate: number[] };
  sacks: { time: number[]; first: number[]; length: number[] };
  losses: { time: number[]; first: number[]; length: number[]; reason: number[]; reasons: string[] };
  marks: { time: number[]; sequence: number[]; text: string[] };
  /**
   * Rates in bit/s over time, of each bin and (`average`) from the first packet to its end; `null`
   * if no data was sent.
   */
  throughput: { bin_us: number; end_us: number; sent: number[]; delivered: number[]; average: number[] } | null;
  /** Congestion window and threshold in segments, if they were recorded. */
  windows: { time: number[]; cwnd: number[]; ssthresh: (number | null)[]; events: PackedEvents | null } | null;
}

export interface Links {
  reasons: string[];
  run: number[];
  way: string[];
  packets: number[];
  bytes: number[];
  delivered_bytes: number[];
  lost: number[][];
  damaged: number[];
  duplicated: number[];
  reordered: number[];
  delay_ms: (number | null)[];
  waiting_ms: (number | null)[];
}

/** Reads the embedded data; throws an error with advice for the reader. */
export function read(document: Document): Page {
  const text = document.getElementById("data")?.textContent ?? "";
  const page = JSON.parse(text) as Page;
  if (page.schema !== SCHEMA) {
    throw new Error(`This page reads schema ${SCHEMA}, but its data has schema ${page.schema}. Write the report again.`);
  }
  return page;
}
