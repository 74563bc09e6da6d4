// Colours that people with any colour vision tell apart, on white and on dark grey: Okabe and Ito
// (Color Universal Design,
// 2008) without black and yellow. Levels also differ in their symbols, for print without colours.

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c8c8c"] as const;

/** Symbols of dots, in the order of the colours. */
export const SYMBOLS = ["circle", "square", "triangle", "diamond", "cross", "star", "wye"] as const;

/** Colour of the level at `place` of a factor; grey for a cell without a level of it. */
export function colour(place: number): string {
  return COLOURS[place < 0 ? COLOURS.length - 1 : place % COLOURS.length] as string;
}

/**
 * Symbol of the level at `place` of a factor; from the eighth level on a colour comes with another
 * symbol.
 */
export function symbol(place: number): (typeof SYMBOLS)[number] {
  if (place < 0) return SYMBOLS[0];
  const round = Math.floor(place / COLOURS.length);
  return SYMBOLS[(place + round) % SYMBOLS.length] as (typeof SYMBOLS)[number];
}

/** Colours of the true causes of losses. */
export const CAUSE = {
  wireless: "#e69f00",
  congestion: "#0072b2",
  outage: "#cc79a7",
  mixed: "#009e73",
  none: "#8c8c8c",
} as const;

/** Symbols of a loss's assumed cause, for readers who cannot see colours. */
export const TAKEN_FOR = { wireless: "triangle", congestion: "square", none: "circle" } as const;

/**
 * Colours of the time-sequence plot. Its strokes are thin, so that the blue is one that stands out
 * on both grounds.
 */
export const SEQUENCE = {
  data: "#1f83cf",
  retransmission: "#d55e00",
  ack: "#009e73",
  window: "#e69f00",
  sack: "#cc79a7",
  cwnd: "#1f83cf",
  ssthresh: "#d55e00",
  sent: "#e69f00",
  delivered: "#1f83cf",
  average: "#d55e00",
} as const;

/** Colours of the layers of a multi-layer view; graphs of one layer differ in their symbols. */
export const LAYER = {
  "tcp-sender": "#1f83cf",
  "tcp-receiver": "#d55e00",
  "link-sender": "#009e73",
  "link-receiver": "#cc79a7",
  // Beside the vermilion of the receiver for those who see no red: its symbol is larger than any
  // other.
  lost: "#a0109c",
  "sender-state": "#e69f00",
} as const;

/** Colours of the live page of a link. */
export const LIVE = {
  rate: SEQUENCE.data,
  limit: "#8c8c8c",
  delay: "#d55e00",
  queueing: "#e69f00",
  waiting: "#009e73",
} as const;
