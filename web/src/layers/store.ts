// The unpacked tiles, and the queue of tiles to unpack. Tiles unused for long are discarded.
//
// Only a few tiles are unpacked at a time, so that a window that needs many does not block frames.
// The latest request is served first: tiles of windows that the reader has left are dropped.

import { inflated, type Points, unpacked } from "./tile";

/** Number of tiles kept: 64 kB each, 130 MB at most. */
const KEPT = 2000;

/** Number of tiles unpacked at the same time. */
const TOGETHER = 4;

export interface Store {
  /** The points of a tile, if unpacked; keeps them for a while. */
  get(number: number): Points | undefined;
  /** Unpacks these tiles; resolves to false if a newer request replaces this one. */
  bring(tiles: readonly number[]): Promise<boolean>;
}

/** Converts a tile's text to points. */
export type Unpack = (number: number) => Promise<Points>;

/**
 * A store of the tiles of a file; `packing` says how many points each has, and how to scale them.
 */
export function store(document: Document, packing: (number: number) => { count: number; step: number; unit: number }): Store {
  return kept(async (number) => {
    const { count, step, unit } = packing(number);
    return unpacked(await inflated(await text(document, number)), count, step, unit);
  }, KEPT);
}

/** A store of `size` tiles. */
export function kept(unpack: Unpack, size: number): Store {
  const known = new Map<number, Points>();
  const coming = new Map<number, Promise<void>>();
  let waiting: number[] = [];
  let told: () => void = () => {};
  const fetched = async (number: number) => {
    try {
      known.set(number, await unpack(number));
    } finally {
      coming.delete(number);
    }
    for (const old of known.keys()) {
      if (known.size <= size) break;
      known.delete(old);
    }
  };
  const work = async (tiles: number[]) => {
    for (let next = tiles.shift(); next !== undefined; next = tiles.shift()) {
      if (known.has(next)) continue;
      const promise = coming.get(next) ?? fetched(next);
      coming.set(next, promise);
      await promise;
    }
  };
  return {
    get(number) {
      const points = known.get(number);
      if (points !== undefined) {
        known.delete(number);
        known.set(number, points);
      }
      return points;
    },
    async bring(tiles) {
      waiting.length = 0;
      told();
      const mine = tiles.filter((number) => !known.has(number));
      waiting = mine;
      const replaced = new Promise<false>((resolve) => (told = () => resolve(false)));
      const all = Promise.all(Array.from({ length: TOGETHER }, () => work(mine)));
      return Promise.race([replaced, all.then(() => true)]);
    },
  };
}

/** The text of a tile: it may be in a part of the file that has not been read yet. */
async function text(document: Document, number: number): Promise<string> {
  for (;;) {
    const complete = document.readyState !== "loading";
    const element = document.getElementById(`tile-${number}`);
    // An element that is still being read has nothing behind it.
    if (element !== null && (complete || element.nextSibling !== null)) return element.textContent ?? "";
    if (complete) throw new Error(`Tile ${number} is missing: this file is incomplete. Write it again.`);
    await new Promise((resume) => setTimeout(resume, 30));
  }
}
