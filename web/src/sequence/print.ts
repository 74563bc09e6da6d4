// The time-sequence plot as a drawing for papers: the screen's content as lines instead of pixels.

import * as Plot from "@observablehq/plot";
import { svg } from "../dom";
import { shown } from "../units";
import { crosses, steps, strokes, ticks } from "./path";
import { type Layer, layers, type Point, readable } from "./strokes";
import { type Sequence, visibleBytes } from "./unpack";

/** What happens between two times. */
export function print(sequence: Sequence, from: number, to: number, width: number): SVGSVGElement {
  const bytes = visibleBytes(sequence, from, to);
  const { scale, unit } = shown("bytes", bytes);
  const marks = layers(sequence, from, to).flatMap((layer) => {
    const stroke = layer.colour === "text" ? "currentColor" : layer.colour;
    const last = (point: Point) => point.last * scale;
    const paths: Plot.RenderFunction = (_index, { x, y }) => {
      const place = ({ time, first, last }: Point) => ({
        x: Number(x?.(Math.max(time, from))),
        low: Number(y?.(first * scale)),
        high: Number(y?.(last * scale)),
      });
      const d = path(layer, layer.points.map(place), Number(x?.(Math.min(to, sequence.end))));
      return d === "" ? null : svg("path", { d, fill: "none", stroke, "stroke-width": layer.width });
    };
    return [paths, Plot.text(readable(layer), { x: "time", y: last, text: "text", dy: -8, fill: stroke, clip: true })];
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

/** All of a layer as one line of SVG. */
function path(layer: Layer, points: { x: number; low: number; high: number }[], end: number): string {
  const tops = () => points.map(({ x, high }) => ({ x, y: high }));
  if (layer.shape === "step") return steps(tops(), end);
  if (layer.shape === "stroke") return strokes(points);
  if (layer.shape === "tick") return ticks(tops());
  if (layer.shape === "cross") return crosses(points.map(({ x, low, high }) => ({ x, y: (low + high) / 2 })));
  return "";
}
