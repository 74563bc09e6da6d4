// Common look of the plots that uPlot draws.

import type uPlot from "uplot";

const FONT = "12px system-ui, sans-serif";

/** The look of an axis whose text has the colour `ink`. */
export function axisLook(ink: () => string): Pick<uPlot.Axis, "stroke" | "grid" | "ticks" | "font" | "labelFont"> {
  return { stroke: ink, grid: { stroke: "#8884", width: 1 }, ticks: { stroke: "#8884", size: 4 }, font: FONT, labelFont: FONT };
}

/** Shows a text beside the pointer, or hides it. */
export function showTip(plot: uPlot, tip: HTMLElement, text: string | null): void {
  const { left = -1, top = -1 } = plot.cursor;
  tip.hidden = text === null;
  tip.textContent = text;
  const right = left > plot.over.clientWidth / 2;
  tip.style.left = right ? "" : `${left + 14}px`;
  tip.style.right = right ? `${plot.over.clientWidth - left + 14}px` : "";
  tip.style.top = `${Math.min(top + 10, plot.over.clientHeight - tip.offsetHeight)}px`;
}
