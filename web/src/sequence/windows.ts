// Congestion window and slow start threshold over time, below the time-sequence plot of the same sender and on its time axis.

import * as Plot from "@observablehq/plot";
import uPlot from "uplot";
import { h } from "../dom";
import { SEQUENCE } from "../palette";
import { number } from "../units";
import type { Screen } from "./screen";
import { type Sequence, within } from "./unpack";

const HEIGHT = 200;

export type Windows = NonNullable<Sequence["windows"]>;

/** The greatest window or threshold between two times; what was last before counts as well. */
export function highest(windows: Windows, from: number, to: number): number {
  const [start, end] = within(windows.time, from, to);
  let high = 1;
  // Of a change at `from` itself nothing before is seen.
  const first = windows.time[start] === from ? start : Math.max(0, start - 1);
  for (let place = first; place < end; place++) {
    high = Math.max(high, windows.cwnd[place] ?? 0, windows.ssthresh[place] ?? 0);
  }
  return high;
}

/** The lines to the end of the connection: the last values go on. */
function lines(windows: Windows, end: number): { time: number[]; cwnd: number[]; ssthresh: (number | null)[] } {
  return {
    time: [...windows.time, Math.max(end, windows.time.at(-1) ?? 0)],
    cwnd: [...windows.cwnd, windows.cwnd.at(-1) ?? 0],
    ssthresh: [...windows.ssthresh, windows.ssthresh.at(-1) ?? null],
  };
}

/** Draws them on the screen; `changed` hears of every other range that is shown. */
export function windows(sequence: Sequence, of: Windows, width: number, changed: (from: number, to: number) => void): Screen {
  const element = h("div", { class: "sequence", role: "img", "aria-label": "Congestion window and slow start threshold over time." });
  const ink = () => getComputedStyle(element).color;
  const { time, cwnd, ssthresh } = lines(of, sequence.end);
  const whole: [number, number] = [-0.015 * sequence.end, 1.015 * sequence.end];
  const axis = { stroke: ink, grid: { stroke: "#8884", width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
  const step = uPlot.paths.stepped?.({ align: 1 }) ?? (() => null);
  const line = (stroke: string): uPlot.Series => ({ stroke, width: 1.5, paths: step, points: { show: false }, spanGaps: true });
  const range = (self: uPlot): [number, number] => [self.scales["x"]?.min ?? 0, self.scales["x"]?.max ?? 1];
  const plot = new uPlot(
    {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false, dist: 4 } },
      scales: { x: { time: false, range: (_self, low, high) => [low ?? 0, high ?? 1] }, y: { range: (self) => [0, highest(of, ...range(self)) * 1.05] } },
      series: [{}, line(SEQUENCE.ssthresh), line(SEQUENCE.cwnd)],
      axes: [
        { ...axis, label: "time since the first packet (s)", labelSize: 18, size: 30, values: (_plot, ticks) => ticks.map((tick) => String(+tick.toPrecision(9))) },
        { ...axis, label: "segments", labelSize: 22, size: 58, values: (_plot, ticks) => ticks.map((tick) => number(tick, 6)) },
      ],
      hooks: { setScale: [(self, key) => key === "x" && changed(...range(self))] },
    },
    [time, ssthresh, cwnd],
    element,
  );
  const zoom = (from: number, to: number) => {
    const wide = Math.max(Math.min(to - from, whole[1] - whole[0]), sequence.end / 1e6);
    const start = Math.min(Math.max(from, whole[0]), whole[1] - wide);
    plot.setScale("x", { min: start, max: start + wide });
  };
  zoom(...whole);
  return { element, range: () => range(plot), zoom, destroy: () => plot.destroy() };
}

/** The same between two times as a drawing for papers. */
export function printWindows(of: Windows, end: number, from: number, to: number, width: number): SVGSVGElement {
  const { time, cwnd, ssthresh } = lines(of, end);
  const line = (values: (number | null)[], stroke: string) => {
    const points = time.map((x, place) => ({ x, y: values[place] ?? null })).filter(({ y }) => y !== null);
    return Plot.line(points, { x: "x", y: "y", stroke, strokeWidth: 1.5, curve: "step-after", clip: true });
  };
  const drawing = Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 62,
    marginBottom: 42,
    style: { background: "none", fontSize: "12px", maxWidth: "none" },
    x: { domain: [from, to] },
    y: { domain: [0, highest(of, from, to) * 1.05] },
    marks: [
      Plot.axisX({ label: "time since the first packet (s)", labelAnchor: "center", labelArrow: "none" }),
      Plot.axisY({ label: "segments", labelAnchor: "center", labelArrow: "none" }),
      Plot.frame({ stroke: "currentColor", strokeOpacity: 0.4 }),
      line(ssthresh, SEQUENCE.ssthresh),
      line(cwnd, SEQUENCE.cwnd),
    ],
  });
  return drawing as SVGSVGElement;
}
