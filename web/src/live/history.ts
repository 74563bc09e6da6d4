// The past of a link, as far back as the page shows it, in buffers of a fixed size. Pure.

import { byCause, type LossCause } from "./causes";
import { between, type Interval } from "./interval";
import { Ring } from "./ring";
import { type Direction, DIRECTIONS, type Status } from "./state";

/** Time over which the numbers of the page are averaged, in seconds. */
const WINDOW = 1;

/** Greatest number of states in this time; with more, it is shorter. */
const STATES = 32;

/** Rows of a buffer. Ten a second are a minute, and one a second are ten minutes. */
const ROWS = 620;

/** Seconds between two rows of the coarse buffer. */
const COARSE = 1;

/** Greatest range that has a row for each state, in seconds. */
const FINE_RANGE = 60;

export type Column = "time" | "rate" | "limit" | "delay" | "queueing" | "waiting" | LossCause;

const COLUMNS: readonly Column[] = ["time", "rate", "limit", "delay", "queueing", "waiting", "wireless", "congestion", "outage", "mixed"];

/** Rows for the charts of one direction, and the state that the next row begins at. */
interface Track {
  rows: Readonly<Record<Direction, Ring<Column>>>;
  last: Status | null;
}

function track(): Track {
  return { rows: { up: new Ring(COLUMNS, ROWS), down: new Ring(COLUMNS, ROWS) }, last: null };
}

export class History {
  readonly #states: Status[] = [];
  readonly #fine = track();
  readonly #coarse = track();

  /** Adds the newest state. That of another run, or of another link, begins a new history. */
  add(status: Status): void {
    const newest = this.newest;
    if (newest !== null && !follows(newest, status)) this.clear();
    this.#row(this.#fine, status);
    if (this.#coarse.last === null || seconds(this.#coarse.last, status) >= COARSE) this.#row(this.#coarse, status);
    this.#states.push(status);
    // One state at the beginning of the window stays.
    while (this.#states.length > STATES || (this.#states[1] !== undefined && seconds(this.#states[1], status) >= WINDOW)) this.#states.shift();
  }

  /** The newest state. */
  get newest(): Status | null {
    return this.#states.at(-1) ?? null;
  }

  /** The state at the beginning of the last second. */
  get oldest(): Status | null {
    return this.#states[0] ?? null;
  }

  /** What happened in the last second. */
  recent(direction: Direction): Interval | null {
    const [before, now] = [this.oldest, this.newest];
    return before === null || now === null ? null : between(before[direction], now[direction], seconds(before, now));
  }

  /** Rows for a chart that shows so many seconds. */
  rows(direction: Direction, range: number): Ring<Column> {
    return (range > FINE_RANGE ? this.#coarse : this.#fine).rows[direction];
  }

  clear(): void {
    this.#states.length = 0;
    for (const kept of [this.#fine, this.#coarse]) {
      kept.last = null;
      for (const direction of DIRECTIONS) kept.rows[direction].clear();
    }
  }

  #row(kept: Track, status: Status): void {
    const { last } = kept;
    kept.last = status;
    if (last === null) return;
    for (const direction of DIRECTIONS) {
      const now = status[direction];
      const { rate, delay, queueing, lostBy } = between(last[direction], now, seconds(last, status));
      kept.rows[direction].add({ time: status.at_ns / 1e9, rate, limit: now.rate, delay, queueing, waiting: now.waiting, ...byCause(lostBy) });
    }
  }
}

function seconds(before: Status, now: Status): number {
  return (now.at_ns - before.at_ns) / 1e9;
}

/** Whether a state is a later one of the same run. */
function follows(before: Status, now: Status): boolean {
  return now.link.id === before.link.id && now.link.pid === before.link.pid && now.at_ns > before.at_ns;
}
