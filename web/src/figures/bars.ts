// Two ranges on one axis: the published one above, the measured one below.

import * as Plot from "@observablehq/plot";
import type { Figure } from "../data";
import { axis, extent } from "./extent";

const PUBLISHED = "#8c8c8c";
const OURS = "#0072b2";

/** The drawing of one figure from the literature. */
export function bars(figure: Figure, width: number): SVGSVGElement {
  const ends = [figure.published, ...(figure.ours === null ? [] : [figure.ours])];
  const domain = axis(extent(ends.flatMap(({ low, high }) => [low, high])));
  const row = (name: string, low: number, high: number, colour: string) => ({ name, low, high, colour });
  const rows = [row("published", figure.published.low, figure.published.high, PUBLISHED)];
  if (figure.ours !== null) rows.push(row("ours", figure.ours.low, figure.ours.high, OURS));
  const drawing = Plot.plot({
    width,
    height: 84,
    marginLeft: 66,
    marginRight: 18,
    marginTop: 6,
    marginBottom: 34,
    style: { background: "none", fontSize: "11px", overflow: "visible", maxWidth: "none" },
    x: { domain },
    y: { domain: ["published", "ours"], padding: 0.35 },
    color: { type: "identity" },
    marks: [
      Plot.axisX({ label: figure.unit, labelAnchor: "center", labelArrow: "none", ticks: Math.max(2, Math.floor(width / 70)), tickSize: 3 }),
      Plot.axisY({ label: null, tickSize: 0 }),
      Plot.barX(rows, { x1: "low", x2: "high", y: "name", fill: "colour", fillOpacity: 0.75 }),
      // A single number has no width; marks at its ends make it visible.
      Plot.tickX(rows, { x: "low", y: "name", stroke: "colour", strokeWidth: 2.5 }),
      Plot.tickX(rows, { x: "high", y: "name", stroke: "colour", strokeWidth: 2.5 }),
    ],
  });
  return drawing as SVGSVGElement;
}
