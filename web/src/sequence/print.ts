// The time-sequence plot as a drawing for papers: what the screen shows, as lines instead of pixels.

import * as Plot from "@observablehq/plot";
import { shown } from "../units";
import { layers, type Point, readable } from "./strokes";
import { type Sequence, visibleBytes } from "./unpack";

/** A short line across, as a symbol. */
const TICK = {
  draw(context: CanvasPath, size: number) {
    const half = Math.sqrt(size / Math.PI);
    context.moveTo(-half, 0);
    context.lineTo(half, 0);
  },
};

/** What happens between two times. */
export function print(sequence: Sequence, from: number, to: number, width: number): SVGSVGElement {
  const bytes = visibleBytes(sequence, from, to);
  const { scale, unit } = shown("bytes", bytes);
  const first = (point: Point) => point.first * scale;
  const last = (point: Point) => point.last * scale;
  const marks = layers(sequence, from, to).flatMap((layer) => {
    const stroke = layer.colour === "text" ? "currentColor" : layer.colour;
    const common = { stroke, strokeWidth: layer.width, clip: true } as const;
    const texts = Plot.text(readable(layer), { x: "time", y: last, text: "text", dy: -8, fill: stroke, clip: true });
    if (layer.shape === "step") return [Plot.line(layer.points, { ...common, x: "time", y: last, curve: "step-after" })];
    if (layer.shape === "tick") return [Plot.dot(layer.points, { ...common, x: "time", y: last, symbol: TICK, r: 3 })];
    if (layer.shape === "cross") {
      const middle = (point: Point) => ((point.first + point.last) / 2) * scale;
      return [Plot.dot(layer.points, { ...common, x: "time", y: middle, symbol: "times", r: 4 })];
    }
    if (layer.shape === "none") return [texts];
    return [Plot.ruleX(layer.points, { ...common, x: "time", y1: first, y2: last }), texts];
  });
  const drawing = Plot.plot({
    width,
    height: 380,
    marginLeft: 62,
    marginBottom: 42,
    style: { background: "none", fontSize: "12px", maxWidth: "none" },
    x: { domain: [from, to] },
    y: { domain: bytes.map((byte) => byte * scale) },
    marks: [
      Plot.axisX({ label: "time since the first packet (s)", labelAnchor: "center", labelArrow: "none" }),
      Plot.axisY({ label: `sequence number (${unit})`, labelAnchor: "center", labelArrow: "none" }),
      Plot.frame({ stroke: "currentColor", strokeOpacity: 0.4 }),
      ...marks,
    ],
  });
  return drawing as SVGSVGElement;
}
