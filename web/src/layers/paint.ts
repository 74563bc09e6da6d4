// Symbols as pixels of a picture, and lines as paths. For 100 000 points a path of rectangles, as
// libraries for plots draw them, takes forty times as long as a picture (scripts/bench/layers).

import { DASHES, type Look, MARGIN, pixels } from "./symbols";
import { firstFrom, type Points } from "./tile";
import type { Window } from "./window";

/** Where a window is drawn, in device pixels. */
export interface Area {
  width: number;
  height: number;
  /** Device pixels a pixel. */
  ratio: number;
}

/** A picture of points, with a margin for symbols whose middle is inside and whose edge is not. */
export class Picture {
  readonly #area: Area;
  readonly #margin: number;
  readonly #data: ImageData;
  readonly #pixels: Uint32Array;

  constructor(area: Area) {
    this.#area = area;
    this.#margin = MARGIN * Math.max(1, Math.round(area.ratio));
    this.#data = new ImageData(area.width + 2 * this.#margin, area.height + 2 * this.#margin);
    this.#pixels = new Uint32Array(this.#data.data.buffer);
  }

  clear(): void {
    this.#pixels.fill(0);
  }

  /**
   * Sets the symbols of points, whose bytes are `offset` higher in the window. Returns how many are
   * inside.
   */
  set(points: Points, window: Window, offset: number, look: Look, large: boolean): number {
    const { width, height, ratio } = this.#area;
    const wide = this.#data.width;
    const symbol = pixels(look, ratio, large).map(([x, y]) => y * wide + x);
    const ink = word(look.colour);
    const [across, up] = [width / (window.to - window.from), height / (window.high - window.low)];
    const { time, bytes } = points;
    let [inside, before] = [0, -1];
    for (let place = firstFrom(time, window.from); place < time.length; place++) {
      const x = Math.floor(((time[place] as number) - window.from) * across);
      if (x >= width) break;
      const y = Math.floor((window.high - (bytes[place] as number) - offset) * up);
      if (y < 0 || y >= height) continue;
      inside += 1;
      const middle = (y + this.#margin) * wide + x + this.#margin;
      if (middle === before) continue;
      before = middle;
      for (const pixel of symbol) this.#pixels[middle + pixel] = ink;
    }
    return inside;
  }

  /** Puts it where the area is in `context`, whose left and upper edge it starts from. */
  put(context: CanvasRenderingContext2D, left: number, top: number): void {
    const margin = this.#margin;
    context.putImageData(this.#data, left - margin, top - margin, margin, margin, this.#area.width, this.#area.height);
  }
}

/** `#rrggbb` as a word of a picture: the lowest byte is red, the highest is how opaque it is. */
export function word(colour: string): number {
  const rgb = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

/** Number of points of a tile between two times. */
export function countBetween({ time }: Points, { from, to }: Window): number {
  return firstFrom(time, to) - firstFrom(time, from);
}

/** Points of several tiles in order of time, those between two times and the last one before. */
export function merged(tiles: readonly Points[], from: number, to: number): { time: number; bytes: number }[] {
  const found: { time: number; bytes: number }[] = [];
  let before: { time: number; bytes: number } | null = null;
  for (const { time, bytes } of tiles) {
    const start = firstFrom(time, from);
    const earlier = time[start - 1];
    if (earlier !== undefined && (before === null || earlier >= before.time)) before = { time: earlier, bytes: bytes[start - 1] as number };
    for (let place = start; place < time.length && (time[place] as number) <= to; place++) {
      found.push({ time: time[place] as number, bytes: bytes[place] as number });
    }
  }
  // Sorting keeps the order of equal ones, and of one tile they are in order.
  found.sort((one, other) => one.time - other.time);
  return before === null ? found : [before, ...found];
}

/** Places in the drawing, in pixels of the context. */
export interface Scale {
  x: (time: number) => number;
  y: (bytes: number) => number;
}

/** A line that keeps each value until the next one. Returns how many points are in the window. */
export function steps(
  context: CanvasRenderingContext2D,
  line: readonly { time: number; bytes: number }[],
  window: Window,
  offset: number,
  look: Look,
  { x, y }: Scale,
): number {
  context.beginPath();
  let level: number | null = null;
  let inside = 0;
  for (const { time, bytes } of line) {
    if (time >= window.from) inside += 1;
    const [across, height] = [x(Math.max(time, window.from)), y(bytes + offset)];
    // Most windows repeat the previous value.
    if (height === level) continue;
    if (level === null) context.moveTo(across, height);
    else {
      context.lineTo(across, level);
      context.lineTo(across, height);
    }
    level = height;
  }
  if (level !== null) context.lineTo(x(window.to), level);
  context.strokeStyle = look.colour;
  context.setLineDash([...(DASHES[look.variant] ?? [])]);
  context.stroke();
  context.setLineDash([]);
  return inside;
}

/**
 * Marks over the whole height; as short ones at the upper edge, a row for each variant, where there
 * are too many to see anything else.
 */
export function marks(
  context: CanvasRenderingContext2D,
  times: readonly number[],
  { low, high }: Window,
  look: Look,
  { x, y }: Scale,
  room: number,
): void {
  const short = crowded(times.length, room);
  const [top, bottom] = short ? [y(high) + 9 * look.variant, y(high) + 9 * look.variant + 7] : [y(high), y(low)];
  context.beginPath();
  // On whole pixels, each once: a canvas is slow with lines between them.
  for (const across of new Set(times.map((time) => Math.floor(x(time)) + 0.5))) {
    context.moveTo(across, top);
    context.lineTo(across, bottom);
  }
  context.strokeStyle = look.colour;
  context.setLineDash(short ? [] : [...(DASHES[look.variant] ?? [])]);
  context.stroke();
  context.setLineDash([]);
}

/** Whether this many marks would cover a drawing of this many pixels. */
export function crowded(count: number, room: number): boolean {
  return count > room / 16;
}
