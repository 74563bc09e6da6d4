// The content of a view: the visible graphs, with or without offsets, and their unpacked points.

import type { PackedGraph, View } from "./data";
import { type Needed, needed, type Pixel } from "./needed";
import { type Store, store } from "./store";
import { type Look, looks } from "./symbols";
import type { Points } from "./tile";
import type { Window } from "./window";

/** A drawn graph. */
export interface Part {
  graph: PackedGraph;
  look: Look;
  /** Bytes currently added to its values. */
  offset: number;
  /** Unpacked tiles, coarse ones first. */
  tiles: Points[];
  /** Detail of the points once all tiles are unpacked. */
  detail: Needed["detail"];
}

export interface Scene {
  view: View;
  looks: Look[];
  /** Whether each graph is drawn. */
  shown: boolean[];
  /** Whether layers are moved away from one another. */
  offsets: boolean;
  offset(graph: PackedGraph): number;
  /** The parts of a window, and the tiles still missing. */
  parts(window: Window, pixel: Pixel): { parts: Part[]; missing: number[] };
  bring: Store["bring"];
}

/** The scene as it is when the page opens: everything is shown. */
export function scene(view: View, document: Document): Scene {
  const packing = new Map<number, { count: number; step: number; unit: number }>();
  for (const { levels, step_ns: step, unit } of view.graphs) {
    for (const { first, tiles } of levels) tiles.forEach(([count], place) => packing.set(first + place, { count, step, unit }));
  }
  const tiles = store(document, (number) => packing.get(number) ?? { count: 0, step: 1, unit: 1 });
  const look = looks(view.graphs);
  return {
    view,
    looks: look,
    shown: view.graphs.map(() => true),
    offsets: true,
    offset(graph) {
      return this.offsets ? graph.offset : 0;
    },
    parts(window, pixel) {
      const missing: number[] = [];
      const part = (graph: PackedGraph, place: number): Part[] => {
        if (this.shown[place] !== true) return [];
        const offset = this.offset(graph);
        const own = { ...window, low: window.low - offset, high: window.high - offset };
        const found = needed(graph, view.ratio, own, pixel);
        const here: Points[] = [];
        for (const { number } of found.tiles) {
          const points = tiles.get(number);
          if (points === undefined) missing.push(number);
          else here.push(points);
        }
        return [{ graph, look: look[place] as Look, offset, tiles: here, detail: found.detail }];
      };
      return { parts: view.graphs.flatMap(part), missing };
    },
    bring: tiles.bring,
  };
}
