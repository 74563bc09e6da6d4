// What the server of the page answers, as JSON. crates/lasthop/src/remote.rs has the same in Rust.

/** A direction of a link. */
export type Direction = "up" | "down";

/** Both of them, in the order of the page. */
export const DIRECTIONS: readonly Direction[] = ["up", "down"];

/** Description of a running link. */
export interface Running {
  id: string;
  pid: number;
  /** Command line of the program behind the link. */
  command: string;
  /** Seconds since the link started. */
  seconds: number;
  /** Parameters of each direction. */
  up: string;
  down: string;
  packets: [number, number];
  lost: [number, number];
}

/** State of one direction; counters are totals since the start of the link. */
export interface WayStatus {
  /** Rate of the bottleneck in bit/s, if it is constant. */
  rate: number | null;
  /** Mean delay behind the bottleneck. */
  delay_ns: number;
  packets: number;
  bytes: number;
  delivered: number;
  delivered_bytes: number;
  lost: number;
  lost_by_reason: Readonly<Record<string, number>>;
  damaged: number;
  duplicated: number;
  reordered: number;
  congestion_marked: number;
  /** Packets that wait for the bottleneck now. */
  waiting: number;
  /** Sum of the delays of delivered packets. */
  delay_sum_ns: number;
  /** Sum of their times in the queue. */
  queueing_sum_ns: number;
  /** `good` or `bad`. */
  channel: string | null;
}

/** Counters of one direction of a flow. */
export interface FlowCounters {
  packets: number;
  bytes: number;
  lost: number;
}

/** Counters of a flow. */
export interface FlowStatus {
  protocol: string;
  /** Address on the wireless side, with a port if the protocol has ports. */
  inside: string;
  outside: string;
  up: FlowCounters;
  down: FlowCounters;
}

/** State of a running link. */
export interface Status {
  link: Running;
  /** Nanoseconds since the link started. */
  at_ns: number;
  up: WayStatus;
  down: WayStatus;
  flows: readonly FlowStatus[];
}

/** A profile that the server knows. */
export interface Profile {
  name: string;
  kind: "link" | "loss";
  title: string;
}

/** A capture of the link's packets. */
export interface Capture {
  file: string | null;
  bytes: number;
  /** Whether packets are added to it; without it, the last request decides. */
  recording?: boolean;
}

/** A changed direction, and its new parameters. */
export type Changed = [string, string];
