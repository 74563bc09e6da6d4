// What happened in one direction between two states of a link. Pure.

import type { WayStatus } from "./state";

export interface Interval {
  seconds: number;
  /** Rate at the far end, in bit/s. */
  rate: number;
  /** Packets that entered the link, per second. */
  packets: number;
  /** Mean delay of the delivered packets in milliseconds; `null` if there was none. */
  delay: number | null;
  /** Their mean time in the queue in milliseconds. */
  queueing: number | null;
  lost: number;
  /** Lost packets by reason, without reasons that did not occur. */
  lostBy: Readonly<Record<string, number>>;
}

/** The interval between two states of a direction, which are `seconds` apart. */
export function between(before: WayStatus, now: WayStatus, seconds: number): Interval {
  const per = (amount: number) => (seconds > 0 ? Math.max(amount, 0) / seconds : 0);
  const delivered = now.delivered - before.delivered;
  const mean = (sum: number) => (delivered > 0 ? sum / delivered / 1e6 : null);
  const reasons = Object.entries(now.lost_by_reason).map(([reason, count]) => [reason, count - (before.lost_by_reason[reason] ?? 0)] as const);
  return {
    seconds,
    rate: per((now.delivered_bytes - before.delivered_bytes) * 8),
    packets: per(now.packets - before.packets),
    delay: mean(now.delay_sum_ns - before.delay_sum_ns),
    queueing: mean(now.queueing_sum_ns - before.queueing_sum_ns),
    lost: Math.max(now.lost - before.lost, 0),
    lostBy: Object.fromEntries(reasons.filter(([, count]) => count > 0)),
  };
}

/** Packets and copies inside the link. */
export function inside(now: WayStatus): number {
  return Math.max(now.packets + now.duplicated - now.delivered - now.lost, 0);
}
