// States of a link for tests: a download at 1 Mbit/s over a downlink of 2 Mbit/s.

import type { Status, WayStatus } from "../../src/live/state";

/** A direction without a packet so far. */
export const SILENT: WayStatus = {
  rate: null,
  delay_ns: 30e6,
  packets: 0,
  bytes: 0,
  delivered: 0,
  delivered_bytes: 0,
  lost: 0,
  lost_by_reason: {},
  damaged: 0,
  duplicated: 0,
  reordered: 0,
  congestion_marked: 0,
  waiting: 0,
  delay_sum_ns: 0,
  queueing_sum_ns: 0,
  channel: null,
};

/** The state after so many tenths of a second. */
export function status(tenth: number, id = "1"): Status {
  const packets = 10 * tenth;
  const lost = Math.floor(tenth / 5);
  const down: WayStatus = {
    ...SILENT,
    rate: 2e6,
    packets: packets + lost + 1,
    bytes: (packets + lost + 1) * 1250,
    delivered: packets,
    delivered_bytes: packets * 1250,
    lost,
    lost_by_reason: { "queue-full": lost },
    waiting: 1,
    delay_sum_ns: packets * 40e6,
    queueing_sum_ns: packets * 10e6,
    channel: "good",
  };
  const link = { id, pid: 1, command: "curl -O http://host.lasthop/", seconds: Math.floor(tenth / 10), up: "delay: 30ms", down: "bottleneck: 2Mbit/s", packets: [0, down.packets] as [number, number], lost: [0, lost] as [number, number] };
  const flow = { protocol: "tcp", inside: "10.0.0.2:4000", outside: "10.0.0.1:80", up: { packets: 0, bytes: 0, lost: 0 }, down: { packets, bytes: packets * 1250, lost } };
  return { link, at_ns: tenth * 1e8, up: SILENT, down, flows: [flow] };
}
