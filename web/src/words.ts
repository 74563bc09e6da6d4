// Words for losses, the same in tables, legends and tips. Pure.

import type { Cause, PackedEvents, Taken } from "./data";

/** What lost the packets. */
export const CAUSE_WORDS: Readonly<Record<Cause, string>> = {
  wireless: "wireless error",
  congestion: "queue",
  outage: "outage",
  mixed: "mixed",
  none: "nothing lost",
};

/** What the sender took that for. */
export const TAKEN_WORDS: Readonly<Record<Taken | "none", string>> = {
  wireless: "taken for wireless",
  congestion: "taken for congestion",
  none: "no verdict",
};

/** How the sender met it. */
export const KIND_WORDS: Readonly<Record<PackedEvents["kind"][number], string>> = {
  recovery: "recovery",
  timeout: "timeout",
  reduction: "reduction of the window alone",
};

/** Who decided. */
export const REASON_WORDS: Readonly<Record<NonNullable<PackedEvents["reason"][number]>, string>> = {
  detector: "the detector",
  "no-sample": "no round-trip time yet",
  timeout: "the retransmission timer",
  local: "a full transmit queue or ECN",
};
