// Flows of a link and the devices behind it, with their rates in the last second. Pure.

import type { FlowStatus, Status } from "./state";

/** Greatest number of rows of a table. */
export const ROWS = 50;

export interface Row {
  /** Identifies the flow or the device. */
  key: string;
  protocol: string;
  inside: string;
  outside: string;
  /** Number of flows. */
  flows: number;
  /** Rates at which packets entered the link, in bit/s. */
  up: number;
  down: number;
  /** Totals of both directions. */
  packets: number;
  bytes: number;
  lost: number;
}

/** The flows of `now`, the fastest first. `before` is the state that rates are counted from. */
export function flows(before: Status, now: Status): Row[] {
  const seconds = (now.at_ns - before.at_ns) / 1e9;
  const known = new Map(before.flows.map((flow) => [key(flow), flow]));
  // Fewer bytes than before: the flow was forgotten in between.
  const rate = (bytes: number, then: number) => (seconds > 0 ? (Math.max(bytes - then, 0) * 8) / seconds : 0);
  const rows = now.flows.map((flow) => {
    const then = known.get(key(flow));
    return {
      key: key(flow),
      protocol: flow.protocol,
      inside: flow.inside,
      outside: flow.outside,
      flows: 1,
      up: rate(flow.up.bytes, then?.up.bytes ?? 0),
      down: rate(flow.down.bytes, then?.down.bytes ?? 0),
      packets: flow.up.packets + flow.down.packets,
      bytes: flow.up.bytes + flow.down.bytes,
      lost: flow.up.lost + flow.down.lost,
    };
  });
  return sorted(rows);
}

/** Sums over the flows of each device. */
export function devices(rows: readonly Row[]): Row[] {
  const sums = new Map<string, Row>();
  for (const row of rows) {
    const address = addressOf(row.inside, row.protocol);
    const sum = sums.get(address);
    if (sum === undefined) {
      sums.set(address, { ...row, key: address, protocol: "", inside: address, outside: "" });
      continue;
    }
    for (const column of ["flows", "up", "down", "packets", "bytes", "lost"] as const) sum[column] += row[column];
  }
  return sorted([...sums.values()]);
}

/** The address of an end without its port. */
export function addressOf(end: string, protocol: string): string {
  if (protocol !== "tcp" && protocol !== "udp") return end;
  const colon = end.lastIndexOf(":");
  return colon < 0 ? end : end.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
}

function key({ protocol, inside, outside }: FlowStatus): string {
  return `${protocol} ${inside} ${outside}`;
}

function sorted(rows: Row[]): Row[] {
  const order = (one: Row, other: Row) => (one.key < other.key ? -1 : 1);
  return rows.sort((one, other) => other.up + other.down - one.up - one.down || other.bytes - one.bytes || order(one, other));
}
