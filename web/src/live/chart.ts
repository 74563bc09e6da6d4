// A chart of the last seconds of one direction: lines, or lost packets as bars.

import uPlot from "uplot";
import { h, svg } from "../dom";
import { CAUSE } from "../palette";
import { number, quantity, shown } from "../units";
import { axisLook, showTip } from "../uplot";
import { CAUSE_WORDS } from "../words";
import { type Bin, binLength, bins } from "./bins";
import { CAUSES } from "./causes";
import type { Column } from "./history";
import type { Ring, Values } from "./ring";
import { ago, ceiling, ticks } from "./scale";

const HEIGHT = 96;
/** Height of the labels of the time axis. */
const TIMES = 20;

export interface Line {
  name: string;
  column: Column;
  colour: string;
  /** Whether the area below it is filled. */
  filled?: boolean;
  /** Whether it is a limit, which may lie above the axis. */
  limit?: boolean;
}

export interface Chart {
  title: string;
  /** Description for readers who cannot see the chart. */
  description: string;
  /** A unit that `shown` knows, or the name of what is counted. */
  unit: string;
  /** Least end of the axis. */
  least: number;
  /** Lines; without any, lost packets as bars. */
  lines: readonly Line[];
  /** Whether the times are written below it. */
  times: boolean;
}

export interface Drawn {
  element: HTMLElement;
  /** Draws the range up to `now`, in seconds since the start of the link. */
  draw(rows: Ring<Column>, now: number, range: number): void;
  destroy(): void;
}

/** Creates a chart; `redraw` is called when it has to be drawn outside of its turn. */
export function chart(of: Chart, redraw: () => void): Drawn {
  const bars = of.lines.length === 0;
  const place = h("div", { class: "sequence", role: "img", "aria-label": of.description });
  const unit = h("span", { class: "unit" });
  const element = h("figure", { class: "live" }, h("figcaption", {}, h("strong", {}, of.title), unit, of.lines.length === 1 ? null : legend(of)), place);
  const tip = h("div", { class: "tip", hidden: true });
  const times: number[] = [];
  const columns: Values[] = of.lines.map(() => []);
  const data = [times, ...(bars ? [times] : columns)] as uPlot.AlignedData;
  let [range, now, end, length] = [60, 0, of.least, 1];
  let lost: Bin[] = [];
  let visible = false;
  let ink = "#888";
  const scaled = () => shown(of.unit, [end]).scale;
  const axis = axisLook(() => ink);
  const plot = new uPlot(
    {
      width: 300,
      height: HEIGHT + (of.times ? TIMES : 0),
      padding: [6, 12, of.times ? 0 : 6, 0],
      legend: { show: false },
      cursor: { points: { show: false }, y: false, drag: { x: false, y: false } },
      scales: { x: { time: false, auto: false, range: (_plot, low, high) => [low ?? 0, high ?? 1] }, y: { auto: false, range: (_plot, low, high) => [low ?? 0, high ?? 1] } },
      series: [{}, ...(bars ? [{ paths: () => null, points: { show: false } }] : of.lines.map(drawn))],
      axes: [
        { ...axis, size: of.times ? TIMES : 0, gap: 2, splits: () => ticks(now, range), values: (_plot, all) => (of.times ? all.map((tick) => ago(now - tick, range)) : all.map(() => "")) },
        { ...axis, size: 46, gap: 3, space: 26, ...(of.unit === "packets" && { incrs: WHOLE }), values: (_plot, all) => all.map((tick) => number(tick * scaled(), 5)) },
      ],
      hooks: { draw: [(self) => bars && paint(self, lost, length)], setCursor: [(self) => showTip(self, tip, bars ? told(self) : read(self))] },
    },
    data,
    place,
  );
  plot.over.append(tip);

  /** The values at the pointer. */
  function read({ cursor }: uPlot): string | null {
    const at = cursor.idx;
    if (at === null || at === undefined || (cursor.left ?? -1) < 0 || times[at] === undefined) return null;
    const values = of.lines.map(({ name }, line) => `${name}: ${quantity(columns[line]?.[at], of.unit)}`);
    return [`${number(now - times[at], 3)} s ago`, ...values].join("\n");
  }

  /** The losses at the pointer. */
  function told(self: uPlot): string | null {
    const { left = -1 } = self.cursor;
    const at = self.posToVal(left, "x");
    const bin = left < 0 ? undefined : lost.find(({ start }) => start <= at && at < start + length);
    if (bin === undefined) return null;
    const causes = CAUSES.filter((cause) => bin.lost[cause] > 0).map((cause) => `${CAUSE_WORDS[cause]}: ${bin.lost[cause]} lost`);
    return [`${number(Math.max(now - bin.start, 0), 3)} s ago`, ...causes].join("\n");
  }

  const inkNow = () => {
    ink = getComputedStyle(place).color;
    redraw();
  };
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", inkNow);
  const seen = new IntersectionObserver((entries) => {
    visible = entries.at(-1)?.isIntersecting ?? false;
    if (visible) redraw();
  });
  seen.observe(element);
  const sized = new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: plot.height });
    inkNow();
  });
  sized.observe(place);

  return {
    element,
    draw(rows, time, seconds) {
      // A chart that nobody sees costs no time.
      if (!visible) return;
      [now, range, length] = [time, seconds, binLength(seconds)];
      const from = rows.first("time", now - range);
      rows.copy("time", Math.max(from - 1, 0), times as Values);
      if (bars) lost = bins(rows, length, now - range);
      let [greatest, limit] = [0, 0];
      for (const bin of lost) greatest = Math.max(greatest, bin.total);
      for (const [place, line] of of.lines.entries()) {
        const values = columns[place] ?? [];
        rows.copy(line.column, Math.max(from - 1, 0), values);
        for (const value of values) {
          if (line.limit === true) limit = Math.max(limit, value ?? 0);
          else greatest = Math.max(greatest, value ?? 0);
        }
      }
      end = ceiling(greatest, limit, of.least);
      write(unit, bars ? `packets in ${quantity(length, "s", 1)}` : of.unit === "packets" ? "" : shown(of.unit, [end]).unit);
      plot.batch(() => {
        plot.setData(data, false);
        plot.setScale("x", { min: now - range, max: now });
        plot.setScale("y", { min: 0, max: end });
      });
      element.dataset["rows"] = String(times.length);
    },
    destroy() {
      scheme.removeEventListener("change", inkNow);
      seen.disconnect();
      sized.disconnect();
      plot.destroy();
    },
  };
}

/** Distances of ticks for counts. */
const WHOLE = [1, 2, 5].flatMap((step) => [1, 10, 100, 1e3, 1e4, 1e5].map((power) => step * power)).sort((one, other) => one - other);

function drawn({ colour, filled, limit }: Line): uPlot.Series {
  // A value is that of the time before it. A step also shows one between times without packets.
  const paths = uPlot.paths.stepped?.({ align: -1 }) ?? (() => null);
  const common: uPlot.Series = { stroke: colour, width: limit === true ? 1 : 1.5, points: { show: false }, paths };
  if (limit === true) return { ...common, dash: [5, 4] };
  return filled === true ? { ...common, fill: `${colour}40` } : common;
}

function paint(plot: uPlot, lost: readonly Bin[], length: number): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const bin of lost) {
    const [left, right] = [plot.valToPos(bin.start, "x", true), plot.valToPos(bin.start + length, "x", true)];
    let below = 0;
    for (const cause of CAUSES) {
      if (bin.lost[cause] === 0) continue;
      const [low, high] = [plot.valToPos(below, "y", true), plot.valToPos(below + bin.lost[cause], "y", true)];
      ctx.fillStyle = CAUSE[cause];
      ctx.fillRect(left, high, Math.max(right - left - 1, 1), low - high);
      below += bin.lost[cause];
    }
  }
  ctx.restore();
}

function legend({ lines }: Chart): HTMLElement {
  const swatch = (colour: string, line: Line | null) => {
    const drawing = line === null ? svg("rect", { x: 2, y: 2, width: 10, height: 10, fill: colour }) : svg("path", { d: "M0,7H14", stroke: colour, "stroke-width": 2, ...(line.limit === true && { "stroke-dasharray": "4 3" }) });
    return svg("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, drawing);
  };
  const entries = lines.length === 0 ? CAUSES.map((cause) => h("li", {}, swatch(CAUSE[cause], null), cause === "mixed" ? "other" : CAUSE_WORDS[cause])) : lines.map((line) => h("li", {}, swatch(line.colour, line), line.name));
  return h("ul", { class: "key" }, ...entries);
}

/** Changes a text only if it is another one. */
export function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
