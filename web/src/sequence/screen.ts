// The time-sequence plot on the screen: uPlot has the axes, the cursor and the zoom, the layers are
// painted into it.

import uPlot from "uplot";
import { h } from "../dom";
import { number, shown } from "../units";
import { axisLook, showTip } from "../uplot";
import { describe, layers, readable } from "./strokes";
import { type Sequence, visibleBytes, whole } from "./unpack";

const HEIGHT = 380;

export interface Screen {
  element: HTMLElement;
  /** What is shown, in seconds. */
  range(): [number, number];
  zoom(from: number, to: number): void;
  destroy(): void;
}

/** Draws `sequence`; `changed` hears of every other range that is shown. */
export function screen(sequence: Sequence, width: number, changed: (from: number, to: number) => void): Screen {
  const element = h("div", {
    class: "sequence",
    tabindex: 0,
    role: "img",
    "aria-label": "Time-sequence plot. Arrow keys move, plus and minus zoom, 0 shows everything.",
  });
  const tip = h("div", { class: "tip", hidden: true });
  const all = whole(sequence.end);
  const ink = () => getComputedStyle(element).color;
  const { scale, unit } = shown("bytes", [visibleBytes(sequence, 0, sequence.end)[1]]);
  const grid = { stroke: () => fade(ink()), width: 1 };
  const axis = { ...axisLook(ink), grid, ticks: { ...grid, size: 4 } };
  const plot = new uPlot(
    {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false, dist: 4 } },
      scales: { x: { time: false }, y: { auto: false, range: (_plot, low, high) => [low ?? 0, high ?? 1] } },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [
        { ...axis, label: "time since the first packet (s)", labelSize: 18, size: 30, values: (_plot, ticks) => ticks.map((tick) => String(+tick.toPrecision(9))) },
        { ...axis, label: `sequence number (${unit})`, labelSize: 22, size: 58, values: (_plot, ticks) => ticks.map((tick) => number(tick * scale, 6)) },
      ],
      hooks: {
        setScale: [
          (self, key) => {
            if (key !== "x") return;
            const [from, to] = span(self);
            const [min, max] = visibleBytes(sequence, from, to);
            // uPlot forgets scales that are set while it tells of others.
            queueMicrotask(() => self.setScale("y", { min, max }));
            element.dataset["range"] = `${from} ${to}`;
            changed(from, to);
          },
        ],
        draw: [(self) => paint(self, sequence, ink())],
        setCursor: [(self) => point(self, sequence, tip)],
      },
    },
    [all, [0, 0]],
    element,
  );
  plot.over.append(tip);
  const redraw = () => plot.redraw(false);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", redraw);
  const range = () => span(plot);
  const zoom = (from: number, to: number) => {
    const wide = Math.max(Math.min(to - from, all[1] - all[0]), sequence.end / 1e6);
    const start = Math.min(Math.max(from, all[0]), all[1] - wide);
    plot.setScale("x", { min: start, max: start + wide });
  };
  zoom(...all);
  element.addEventListener("keydown", (event) => {
    const [from, to] = range();
    const step = (to - from) / 4;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => zoom(from - step, to - step),
      ArrowRight: () => zoom(from + step, to + step),
      "+": () => zoom(from + step, to - step),
      "-": () => zoom(from - 2 * step, to + 2 * step),
      "0": () => zoom(...all),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  });
  const destroy = () => {
    scheme.removeEventListener("change", redraw);
    plot.destroy();
  };
  return { element, range, zoom, destroy };
}

function span(plot: uPlot): [number, number] {
  return [plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1];
}

function fade(colour: string): string {
  return colour.startsWith("rgb(") ? colour.replace("rgb(", "rgba(").replace(")", ", 0.14)") : colour;
}

function paint(plot: uPlot, sequence: Sequence, ink: string): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const x = (time: number) => plot.valToPos(time, "x", true);
  const y = (byte: number) => plot.valToPos(byte, "y", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const layer of layers(sequence, ...span(plot))) {
    ctx.beginPath();
    ctx.strokeStyle = ctx.fillStyle = layer.colour === "text" ? ink : layer.colour;
    ctx.lineWidth = layer.width * ratio;
    let level: number | null = null;
    for (const { time, first, last } of layer.points) {
      const [across, low, high] = [x(time), y(first), y(last)];
      if (layer.shape === "step") {
        if (level === null) ctx.moveTo(across, low);
        else ctx.lineTo(across, level);
        ctx.lineTo(across, low);
        level = low;
      } else if (layer.shape === "stroke") {
        // A segment is seen however small it is.
        ctx.moveTo(across, Math.max(low, high + 3 * ratio));
        ctx.lineTo(across, high);
      } else if (layer.shape === "tick") {
        ctx.moveTo(across - 3 * ratio, low);
        ctx.lineTo(across + 3 * ratio, low);
      } else if (layer.shape === "cross") {
        const [middle, arm] = [(low + high) / 2, 4 * ratio];
        ctx.moveTo(across - arm, middle - arm);
        ctx.lineTo(across + arm, middle + arm);
        ctx.moveTo(across - arm, middle + arm);
        ctx.lineTo(across + arm, middle - arm);
      }
    }
    if (layer.shape === "step" && level !== null) ctx.lineTo(x(sequence.end), level);
    ctx.stroke();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    for (const { time, last, text } of readable(layer)) ctx.fillText(text ?? "", x(time), y(last) - 4 * ratio);
  }
  ctx.restore();
}

function point(plot: uPlot, sequence: Sequence, tip: HTMLElement): void {
  const { left, top } = plot.cursor;
  if (left === undefined || top === undefined || left < 0) {
    tip.hidden = true;
    return;
  }
  const [from, to] = [plot.posToVal(left - 14, "x"), plot.posToVal(left + 14, "x")];
  const text = describe(sequence, from, to, (time, first, last) => {
    const across = plot.valToPos(time, "x") - left;
    const [low, high] = [plot.valToPos(first, "y"), plot.valToPos(last, "y")];
    const up = top > low ? top - low : top < high ? high - top : 0;
    return Math.hypot(across, up);
  });
  showTip(plot, tip, text);
}
