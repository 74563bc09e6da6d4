// Quantities of a sender over time, as lines below the time-sequence plot of the same run and on
// its time axis.

import * as Plot from "@observablehq/plot";
import uPlot from "uplot";
import { h, svg } from "../dom";
import { number } from "../units";
import { axisLook, showTip } from "../uplot";
import { symbolPath } from "../figures/symbols";
import { type Mark, nearest, RADIUS, RING } from "./marks";
import { steps } from "./path";
import type { Screen } from "./screen";
import { whole } from "./unpack";

const HEIGHT = 200;

/** Lines on one axis. */
export interface Chart {
  /** Description for readers who cannot see the chart. */
  description: string;
  /** Beside the axis. */
  label: string;
  lines: Line[];
  /** Above the lines. */
  marks?: readonly Mark[];
  /** When the connection ends; steps go on until then. */
  end: number;
}

export interface Line {
  colour: string;
  width: number;
  /** `step`: each value until the next one; `line`: straight from one to the next. */
  shape: "step" | "line";
  /** Seconds, in order. */
  time: ArrayLike<number>;
  /** `null`: unknown, the previous value continues. */
  values: readonly (number | null)[];
}

interface Dot {
  time: number;
  value: number;
}

/** What a line is drawn through, to the end of the connection if it goes on. */
function dots(line: Line, end: number): Dot[] {
  const known = line.values.flatMap((value, place) => (value === null ? [] : [{ time: line.time[place] ?? 0, value }]));
  const last = known.at(-1);
  return last === undefined || line.shape === "line" ? known : [...known, { time: Math.max(end, last.time), value: last.value }];
}

/**
 * The greatest value between two times; what a line comes from or goes to beyond them counts as
 * well.
 */
export function highest(chart: Chart, from: number, to: number): number {
  let high = 0;
  for (const line of chart.lines) {
    for (const { value } of between(dots(line, chart.end), from, to, line.shape)) high = Math.max(high, value);
  }
  for (const { value } of marksBetween(chart, from, to)) high = Math.max(high, value);
  return high > 0 ? high : 1;
}

/** Where the axis ends: with marks there is more air, since those have a size. */
function ceiling(chart: Chart, from: number, to: number): number {
  return highest(chart, from, to) * (marksBetween(chart, from, to).length > 0 ? 1.12 : 1.05);
}

/** The marks between two times. */
function marksBetween({ marks = [] }: Chart, from: number, to: number): Mark[] {
  return marks.filter(({ time }) => from <= time && time <= to);
}

/** Paints the marks into a plot. */
function paint(plot: uPlot, chart: Chart, from: number, to: number, ink: string): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { time, value, colour, symbol } of marksBetween(chart, from, to)) {
    ctx.save();
    ctx.translate(plot.valToPos(time, "x", true), plot.valToPos(value, "y", true));
    ctx.scale(ratio, ratio);
    const outline = new Path2D(symbolPath(symbol, RADIUS));
    ctx.fillStyle = colour;
    ctx.fill(outline);
    ctx.strokeStyle = ink;
    ctx.lineWidth = RING;
    ctx.stroke(outline);
    ctx.restore();
  }
  ctx.restore();
}

/** Those that the part of a line between two times goes through. */
function between(all: Dot[], from: number, to: number, shape: Line["shape"]): Dot[] {
  // Of a change at `from` itself nothing before is seen.
  const first = all.findIndex(({ time }) => time >= from);
  const start = first < 0 ? all.length - 1 : all[first]?.time === from ? first : first - 1;
  const beyond = all.findIndex(({ time }) => time > to);
  const end = beyond < 0 ? all.length : shape === "line" ? beyond + 1 : beyond;
  return all.slice(Math.max(0, start), end);
}

/** Draws them on the screen; `changed` hears of every other range that is shown. */
export function chartScreen(chart: Chart, width: number, changed: (from: number, to: number) => void): Screen {
  const element = h("div", { class: "sequence", role: "img", "aria-label": chart.description });
  const ink = () => getComputedStyle(element).color;
  const all = whole(chart.end);
  const axis = axisLook(ink);
  const step = uPlot.paths.stepped?.({ align: 1 }) ?? (() => null);
  const drawn = ({ colour, width, shape }: Line): uPlot.Series => {
    const common: uPlot.Series = { stroke: colour, width, points: { show: false }, spanGaps: true };
    return shape === "step" ? { ...common, paths: step } : common;
  };
  const tip = h("div", { class: "tip", hidden: true });
  const point = (self: uPlot) => {
    const { left = -1, top = -1 } = self.cursor;
    const far = ({ time, value }: Mark) => Math.hypot(self.valToPos(time, "x") - left, self.valToPos(value, "y") - top);
    const mark = left < 0 ? null : nearest(marksBetween(chart, ...range(self)), far, 12);
    showTip(self, tip, mark?.text ?? null);
  };
  const tables = chart.lines.map((line) => {
    const drawn = dots(line, chart.end);
    return [drawn.map(({ time }) => time), drawn.map(({ value }) => value)] as uPlot.AlignedData;
  });
  const range = (self: uPlot): [number, number] => [self.scales["x"]?.min ?? 0, self.scales["x"]?.max ?? 1];
  const plot = new uPlot(
    {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false, dist: 4 } },
      scales: { x: { time: false, range: (_self, low, high) => [low ?? 0, high ?? 1] }, y: { auto: false, range: (_self, low, high) => [low ?? 0, high ?? 1] } },
      series: [{}, ...chart.lines.map(drawn)],
      axes: [
        { ...axis, label: "time since the first packet (s)", labelSize: 18, size: 30, values: (_plot, ticks) => ticks.map((tick) => String(+tick.toPrecision(9))) },
        { ...axis, label: chart.label, labelSize: 22, size: 58, values: (_plot, ticks) => ticks.map((tick) => number(tick, 6)) },
      ],
      hooks: {
        setScale: [
          (self, key) => {
            if (key !== "x") return;
            const [from, to] = range(self);
            const max = ceiling(chart, from, to);
            // uPlot forgets scales that are set while it tells of others.
            queueMicrotask(() => self.setScale("y", { min: 0, max }));
            element.dataset["range"] = `${from} ${to}`;
            changed(from, to);
          },
        ],
        draw: [(self) => paint(self, chart, ...range(self), ink())],
        setCursor: [point],
      },
    },
    uPlot.join(tables),
    element,
  );
  plot.over.append(tip);
  const zoom = (from: number, to: number) => {
    const wide = Math.max(Math.min(to - from, all[1] - all[0]), chart.end / 1e6);
    const start = Math.min(Math.max(from, all[0]), all[1] - wide);
    plot.setScale("x", { min: start, max: start + wide });
  };
  zoom(...all);
  return { element, range: () => range(plot), zoom, destroy: () => plot.destroy() };
}

/** Points on the same quarter of a printed pixel are drawn once. */
function quarter(value: number): number {
  return Math.round(value * 4) / 4;
}

/** The same between two times as a drawing for papers. */
export function printChart(chart: Chart, from: number, to: number, width: number): SVGSVGElement {
  const drawn = (line: Line): Plot.Markish => {
    const all = between(dots(line, chart.end), from, to, line.shape);
    if (line.shape === "line") return Plot.line(all, { x: "time", y: "value", stroke: line.colour, strokeWidth: line.width, clip: true });
    return (_index, { x, y }) => {
      const at = (time: number) => Number(x?.(Math.min(Math.max(time, from), to)));
      const d = steps(all.map(({ time, value }) => ({ x: at(time), y: Number(y?.(value)) })), at(chart.end));
      return d === "" ? null : svg("path", { d, fill: "none", stroke: line.colour, "stroke-width": line.width });
    };
  };
  const drawing = Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 62,
    marginBottom: 42,
    style: { background: "none", fontSize: "12px", maxWidth: "none" },
    x: { domain: [from, to] },
    y: { domain: [0, ceiling(chart, from, to)] },
    marks: [
      Plot.axisX({ label: "time since the first packet (s)", labelAnchor: "center", labelArrow: "none" }),
      Plot.axisY({ label: chart.label, labelAnchor: "center", labelArrow: "none" }),
      Plot.frame({ stroke: "currentColor", strokeOpacity: 0.4 }),
      ...chart.lines.map(drawn),
      (_index, { x, y }) => {
        const all = marksBetween(chart, from, to).map(({ time, value, colour, symbol }) => ({
          at: `translate(${quarter(Number(x?.(time)))},${quarter(Number(y?.(value)))})`,
          fill: colour,
          d: symbolPath(symbol, RADIUS),
        }));
        const once = new Map(all.map((mark) => [`${mark.at} ${mark.fill} ${mark.d}`, mark]));
        const drawn = [...once.values()].map(({ at, fill, d }) => svg("path", { d, transform: at, fill }));
        return drawn.length === 0 ? null : svg("g", { stroke: "currentColor", "stroke-width": RING }, ...drawn);
      },
    ],
  });
  return drawing as SVGSVGElement;
}
