// Outlines of the symbols that levels have, by their radius: the same in legends as Observable Plot
// draws them in figures.

import * as Plot from "@observablehq/plot";
import type { SYMBOLS } from "../palette";

const known = new Map<string, string>();

/** The path of a symbol around the origin; `radius` is that of the circle of the same area. */
export function symbolPath(name: (typeof SYMBOLS)[number], radius: number): string {
  const key = `${name} ${radius}`;
  const path = known.get(key) ?? drawn(name, radius);
  known.set(key, path);
  return path;
}

/** Extracts the outline of a dot drawn by Plot. */
function drawn(name: (typeof SYMBOLS)[number], radius: number): string {
  if (name === "circle") return `M${radius},0A${radius},${radius},0,1,1,${-radius},0A${radius},${radius},0,1,1,${radius},0Z`;
  const figure = Plot.plot({ marks: [Plot.dot([0], { frameAnchor: "middle", symbol: name, r: radius })] });
  return figure.querySelector("[aria-label=dot] path")?.getAttribute("d") ?? "";
}
