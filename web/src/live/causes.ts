// Why packets are lost on a link: names of the reasons, and the true cause behind each. Pure.
// crates/vocabulary/src/loss.rs has the same in Rust.

import type { Cause } from "../data";

/** A cause that packets are lost for. */
export type LossCause = Exclude<Cause, "none">;

/** The causes, in the order of charts and legends. */
export const CAUSES: readonly LossCause[] = ["wireless", "congestion", "outage", "mixed"];

const REASONS: Readonly<Record<string, [LossCause, string]>> = {
  "queue-full": ["congestion", "queue full"],
  "queue-head": ["congestion", "oldest in a full queue"],
  "queue-age": ["congestion", "waited too long in the queue"],
  codel: ["congestion", "CoDel"],
  red: ["congestion", "RED"],
  pie: ["congestion", "PIE"],
  dualpi2: ["congestion", "DualPI2"],
  error: ["wireless", "wireless error"],
  listed: ["wireless", "on the list of packets to lose"],
  outage: ["outage", "outage"],
  expired: ["outage", "expired while held"],
  persistency: ["wireless", "given up by the link layer"],
  "link-reset": ["wireless", "link reset"],
  disconnected: ["outage", "link disconnected"],
  "run-ended": ["mixed", "in flight when the run ended"],
};

/** The cause behind a reason; `mixed` for a reason that this page does not know. */
export function causeOf(reason: string): LossCause {
  return REASONS[reason]?.[0] ?? "mixed";
}

/** A reason in words. */
export function reasonWords(reason: string): string {
  return REASONS[reason]?.[1] ?? reason.replaceAll("-", " ");
}

/** Sums lost packets over the reasons of each cause. */
export function byCause(lostBy: Readonly<Record<string, number>>): Record<LossCause, number> {
  const sums = { wireless: 0, congestion: 0, outage: 0, mixed: 0 };
  for (const [reason, count] of Object.entries(lostBy)) sums[causeOf(reason)] += count;
  return sums;
}
