// Distinguishes graphs: a colour for each layer, a symbol for each graph. Pure.

import { LAYER } from "../palette";
import type { PackedGraph, Shape } from "./data";

export interface Look {
  colour: string;
  shape: Shape;
  /** Which of the graphs of its layer and shape it is: 0, 1 or 2. */
  variant: number;
}

/** How many looks there are of each shape. */
const VARIANTS = 3;

/** The looks of all graphs. */
export function looks(graphs: readonly PackedGraph[]): Look[] {
  return graphs.map(({ layer, shape }, place) => {
    const before = graphs.slice(0, place).filter((other) => other.layer === layer && other.shape === shape);
    // A lost segment lies upon its own dot, and has to be seen around it.
    const first = layer === "lost" ? 1 : 0;
    return { colour: LAYER[layer], shape, variant: (first + before.length) % VARIANTS };
  });
}

/**
 * Pixels around a point that its symbol sets, as pictures: a filled square, a hollow one, a
 * rhombus; a cross, an upright one, a double one.
 */
const PICTURES: Record<"dots" | "crosses", readonly (readonly string[])[]> = {
  dots: [
    ["###", "###", "###"],
    ["#######", "#.....#", "#.....#", "#.....#", "#.....#", "#.....#", "#######"],
    ["...#...", "..#.#..", ".#...#.", "#.....#", ".#...#.", "..#.#..", "...#..."],
  ],
  crosses: [
    ["#...#", ".#.#.", "..#..", ".#.#.", "#...#"],
    ["..#..", "..#..", "#####", "..#..", "..#.."],
    ["..#.#..", "..#.#..", "#######", "..#.#..", "#######", "..#.#..", "..#.#.."],
  ],
};

/** The first of each where there are few points: easier to see, and to point at. */
const LARGE: Record<"dots" | "crosses", readonly string[]> = {
  dots: [".###.", "#####", "#####", "#####", ".###."],
  crosses: ["#.....#", ".#...#.", "..#.#..", "...#...", "..#.#..", ".#...#.", "#.....#"],
};

/** In a window of fewer points than this symbols are large. */
export const FEW = 3000;

/**
 * Pixels of a symbol, as distances from its middle, on a screen with `ratio` device pixels a pixel.
 */
export function pixels({ shape, variant }: Look, ratio: number, large: boolean): [number, number][] {
  if (shape !== "dots" && shape !== "crosses") return [];
  const picture = large && variant === 0 ? LARGE[shape] : (PICTURES[shape][variant] ?? []);
  const size = Math.max(1, Math.round(ratio));
  const middle = Math.floor((picture.length * size) / 2);
  const set: [number, number][] = [];
  picture.forEach((row, y) => {
    [...row].forEach((letter, x) => {
      if (letter !== "#") return;
      for (let down = 0; down < size; down++) {
        for (let right = 0; right < size; right++) set.push([x * size + right - middle, y * size + down - middle]);
      }
    });
  });
  return set;
}

/** Half the width of the largest symbol, in pixels. */
export const MARGIN = 4;

/** Dashes of lines. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3]];

/**
 * Outlines around the origin, for legends and files; dots of variant 0 are filled, all others are
 * lines.
 */
export function outline({ shape, variant }: Look): string {
  if (shape === "dots") return ["M-1.5,-1.5h3v3h-3z", "M-3,-3h6v6h-6z", "M0,-3.5l3.5,3.5l-3.5,3.5l-3.5,-3.5z"][variant] ?? "";
  if (shape === "crosses") return ["M-2.5,-2.5l5,5m-5,0l5,-5", "M-2.5,0h5m-2.5,-2.5v5", "M-1,-3v6m2,0v-6m2,2h-6m0,2h6"][variant] ?? "";
  if (shape === "steps") return "M-7,3h5v-6h6v3h3";
  return "M0,-7v14";
}
