// Words for workloads and losses, the same in tables, legends and tips. Pure.

import type { Cause, Measure, PackedEvents, Taken } from "./data";

/** Shown instead of a figure that needs more runs. */
export const TOO_FEW = "n too small";

/** Name of a figure's workload. */
export function whose({ workload, background }: Pick<Measure, "workload" | "background">): string {
  return `Workload “${workload}”${background ? ", which is in the background" : ""}.`;
}

/** The true cause of a loss. */
export const CAUSE_WORDS: Readonly<Record<Cause, string>> = {
  wireless: "wireless error",
  congestion: "queue",
  outage: "outage",
  mixed: "mixed",
  none: "nothing lost",
};

/** The cause that the sender assumed. */
export const TAKEN_WORDS: Readonly<Record<Taken | "none", string>> = {
  wireless: "taken for wireless",
  congestion: "taken for congestion",
  none: "no verdict",
};

/** How the sender detected the loss. */
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
