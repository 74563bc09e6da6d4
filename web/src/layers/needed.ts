// Which tiles of a graph a window needs. Pure.
//
// A level has its tiles in order of time. Of dots those are needed whose extent and the window have
// something in common; of steps also the one before, whose value the window begins with.

import type { PackedGraph, PackedTile } from "./data";
import { levelOf, type Window } from "./window";

/**
 * A graph is drawn with no more points than this in tiles that the window touches; what is beyond
 * is drawn when the reader zooms in.
 */
export const MOST = 400_000;

export interface Tile {
  number: number;
  count: number;
}

export interface Needed {
  /** Coarse ones first. */
  tiles: Tile[];
  /**
   * `all`: every point of the window is among them; `pixel`: those that are a pixel apart;
   * `coarse`: there are too many even of these.
   */
  detail: "all" | "pixel" | "coarse";
}

/** A pixel of the drawing. */
export interface Pixel {
  ns: number;
  bytes: number;
}

/** For a window in the graph's own bytes, without its offset. */
export function needed(graph: PackedGraph, ratio: number, window: Window, pixel: Pixel): Needed {
  const spread = graph.shape === "dots" || graph.shape === "crosses";
  const level = levelOf(ratio, pixel.ns, spread ? pixel.bytes : null);
  const tiles: Tile[] = [];
  let [total, detail]: [number, Needed["detail"]] = [0, "all"];
  for (const each of graph.levels) {
    const found = touched(graph, each.tiles, window).map((place) => ({ number: each.first + place, count: each.tiles[place]?.[0] ?? 0 }));
    if (found.length === 0) continue;
    if (each.level !== null && each.level < level) {
      detail = "pixel";
      break;
    }
    total += found.reduce((sum, { count }) => sum + count, 0);
    if (total > MOST && tiles.length > 0) {
      detail = "coarse";
      break;
    }
    tiles.push(...found);
  }
  return { tiles, detail };
}

/** Indices of the tiles that a window touches. */
function touched(graph: PackedGraph, tiles: readonly PackedTile[], { from, to, low, high }: Window): number[] {
  const found: number[] = [];
  const start = endingFrom(tiles, from);
  if (graph.shape === "steps" && start > 0) found.push(start - 1);
  for (let place = start; place < tiles.length; place++) {
    const [, first, , lowest, highest] = tiles[place] as PackedTile;
    if (first > to) break;
    const beside = graph.shape !== "steps" && graph.shape !== "marks" && (lowest * graph.unit > high || highest * graph.unit < low);
    if (!beside) found.push(place);
  }
  return found;
}

/** The first tile that ends at `time` or later. */
function endingFrom(tiles: readonly PackedTile[], time: number): number {
  let [low, high] = [0, tiles.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tiles[middle]?.[2] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Times and bytes (with offsets, if they are on) of all graphs; null without any point. */
export function extent(graphs: readonly PackedGraph[], offsets: boolean): Window | null {
  let all: Window | null = null;
  for (const graph of graphs) {
    const offset = offsets ? graph.offset : 0;
    for (const [, from, to, low, high] of graph.levels.flatMap(({ tiles }) => tiles)) {
      // A mark has no height.
      const [down, up] = graph.shape === "marks" ? [Infinity, -Infinity] : [low * graph.unit + offset, high * graph.unit + offset];
      all =
        all === null
          ? { from, to, low: down, high: up }
          : { from: Math.min(all.from, from), to: Math.max(all.to, to), low: Math.min(all.low, down), high: Math.max(all.high, up) };
    }
  }
  if (all !== null && all.low > all.high) [all.low, all.high] = [0, 1];
  return all;
}
