// Saves the window as a drawing for papers: the screen's content as lines instead of pixels, black
// on white.

import { svg } from "../dom";
import { rounded } from "../figures/rounded";
import { byteTicks, byteTitle, TIME_TITLE, timeTicks } from "./axes";
import type { Regression } from "./data";
import { crowded, merged } from "./paint";
import { rateWords } from "./readout";
import type { Part } from "./scene";
import { DASHES, outline } from "./symbols";
import { firstFrom } from "./tile";
import type { Window } from "./window";

const [WIDTH, HEIGHT] = [760, 480];
const ROOM = { left: 112, right: 14, top: 40, bottom: 48 };
/** Subdivisions of a printed pixel; points closer than one are drawn once. */
const STEPS = 4;

export interface Shown {
  title: string;
  window: Window;
  parts: readonly Part[];
  /** With the offset of its graph. */
  regressions: readonly (Regression & { offset: number })[];
  segment: number | null;
}

/** The text of an SVG file. */
export function file({ title, window, parts, regressions, segment }: Shown): string {
  const [width, height] = [WIDTH - ROOM.left - ROOM.right, HEIGHT - ROOM.top - ROOM.bottom];
  const keys = Math.ceil(parts.length / 4);
  const x = (time: number) => ROOM.left + ((time - window.from) / (window.to - window.from)) * width;
  const y = (bytes: number) => ROOM.top + ((window.high - bytes) / (window.high - window.low)) * height;
  const text = (words: string, at: Record<string, string | number>) => svg("text", { fill: "black", ...at }, words);
  const whole = HEIGHT + 18 * keys + 14;
  const sheet = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg", width: WIDTH, height: whole, viewBox: `0 0 ${WIDTH} ${whole}`, "font-family": "Helvetica, Arial, sans-serif", "font-size": 12,
  });
  sheet.append(svg("rect", { width: "100%", height: "100%", fill: "white" }), text(title, { x: ROOM.left, y: 22, "font-size": 13, "font-weight": "bold" }));
  const grid = svg("g", { stroke: "#d8d8d8" });
  const words = svg("g");
  const [right, bottom] = [WIDTH - ROOM.right, HEIGHT - ROOM.bottom];
  for (const tick of timeTicks(window, width)) {
    grid.append(svg("path", { d: rounded(`M${x(tick.at)},${ROOM.top}V${bottom + 4}`) }));
    words.append(text(tick.text, { x: rounded(String(x(tick.at))), y: bottom + 18, "text-anchor": "middle" }));
  }
  for (const tick of byteTicks(window, height, segment)) {
    grid.append(svg("path", { d: rounded(`M${ROOM.left - 4},${y(tick.at)}H${right}`) }));
    words.append(text(tick.text, { x: ROOM.left - 7, y: rounded(String(y(tick.at) + 4)), "text-anchor": "end" }));
  }
  words.append(
    text(TIME_TITLE, { x: ROOM.left + width / 2, y: bottom + 38, "text-anchor": "middle" }),
    text(byteTitle(segment), { transform: `translate(14,${ROOM.top + height / 2})rotate(-90)`, "text-anchor": "middle" }),
  );
  const inside = svg("clipPath", { id: "inside" }, svg("rect", { x: ROOM.left, y: ROOM.top, width, height }));
  const drawing = svg("g", { "clip-path": "url(#inside)" });
  for (const part of parts) drawing.append(svg("path", { d: path(part, window, x, y, width), ...painted(part) }));
  for (const { from_ns, to_ns, bytes, slope, offset } of regressions) {
    const at = (time: number) => y(bytes + ((time - from_ns) / 1e9) * slope + offset);
    drawing.append(svg("path", { d: rounded(`M${x(from_ns)},${at(from_ns)}L${x(to_ns)},${at(to_ns)}`), stroke: "black", fill: "none", "stroke-dasharray": "8 4" }));
  }
  regressions.forEach(({ label, slope }, row) => words.append(text(`${label}: ${rateWords(slope)}`, { x: ROOM.left + 10, y: ROOM.top + 44 + 16 * row })));
  const key = svg("g");
  parts.forEach((part, place) => {
    const [left, top] = [ROOM.left + (place % 4) * 160, HEIGHT + 8 + 18 * Math.floor(place / 4)];
    key.append(
      svg("path", { d: outline(part.look), transform: `translate(${left},${top})`, ...painted(part) }),
      text(part.offset === 0 ? part.graph.label : `${part.graph.label} + ${part.offset}`, { x: left + 12, y: top + 4 }),
    );
  });
  sheet.append(inside, grid, drawing, words, key);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(sheet)}\n`;
}

function painted({ look }: Part): Record<string, string | number> {
  if (look.shape === "dots" && look.variant === 0) return { fill: look.colour };
  const dash = look.shape === "steps" || look.shape === "marks" ? (DASHES[look.variant] ?? []).join(" ") : "";
  return { fill: "none", stroke: look.colour, "stroke-width": 1.1, ...(dash === "" ? {} : { "stroke-dasharray": dash }) };
}

/**
 * All points of a graph in the window; what prints on the same quarter of a pixel is there once.
 */
function path({ graph, look, offset, tiles }: Part, window: Window, x: (time: number) => number, y: (bytes: number) => number, width: number): string {
  const snap = (value: number) => Math.round(value * STEPS) / STEPS;
  if (graph.shape === "steps") {
    const line = merged(tiles, window.from, window.to).map(({ time, bytes }) => [snap(x(Math.max(time, window.from))), snap(y(bytes + offset))]);
    const [first, ...rest] = line;
    return first === undefined ? "" : `M${first[0]},${first[1]}${rest.map(([across, up]) => `H${across}V${up}`).join("")}H${snap(x(window.to))}`;
  }
  const places = new Set<string>();
  for (const { time, bytes } of tiles) {
    for (let place = firstFrom(time, window.from); place < time.length && (time[place] as number) <= window.to; place++) {
      const value = (bytes[place] as number) + offset;
      if (graph.shape === "marks") places.add(String(snap(x(time[place] as number))));
      else if (value >= window.low && value <= window.high) places.add(`${snap(x(time[place] as number))},${snap(y(value))}`);
    }
  }
  if (graph.shape === "marks") {
    const [top, length] = crowded(places.size, width) ? [ROOM.top + 9 * look.variant, 7] : [ROOM.top, HEIGHT - ROOM.top - ROOM.bottom];
    return [...places].map((across) => `M${across},${top}v${length}`).join("");
  }
  const start = /^M([^,]+),([^a-zA-Z]+)/.exec(outline(look));
  const [right, down] = [Number(start?.[1] ?? 0), Number(start?.[2] ?? 0)];
  const rest = outline(look).slice(start?.[0].length ?? 0);
  const moved = (place: string) => {
    const [across = 0, up = 0] = place.split(",").map(Number);
    return `M${across + right},${up + down}${rest}`;
  };
  return [...places].map(moved).join("");
}
