// Axes, grid and frame of the drawing, and the units that they are written in.

import { fixed } from "../units";
import type { Scale } from "./paint";
import { places, ticks, type Window } from "./window";

/** Room around the drawing, in pixels. */
export const ROOM = { left: 112, right: 14, top: 10, bottom: 44 };

/** A mark on an axis. */
export interface Tick {
  /** In nanoseconds or bytes. */
  at: number;
  text: string;
}

/** Marks of the time axis in seconds. */
export function timeTicks({ from, to }: Window, width: number): Tick[] {
  const { step, values } = ticks(from / 1e9, to / 1e9, width / 110);
  return values.map((value) => ({ at: value * 1e9, text: fixed(value, places(step)) }));
}

/** Marks of the axis of bytes, or of segments of so many bytes. */
export function byteTicks({ low, high }: Window, height: number, segment: number | null): Tick[] {
  const size = segment ?? 1;
  const { step, values } = ticks(low / size, high / size, height / 55);
  return values.map((value) => ({ at: value * size, text: fixed(value, places(step)) }));
}

export function byteTitle(segment: number | null): string {
  return segment === null ? "bytes" : `segments of ${segment} bytes`;
}

export const TIME_TITLE = "time since the SYN (s)";

/** Draws both axes. */
export function axes(
  context: CanvasRenderingContext2D,
  window: Window,
  { x, y }: Scale,
  { width, height, segment, ink, line }: { width: number; height: number; segment: number | null; ink: string; line: string },
): void {
  const [right, bottom] = [ROOM.left + width, ROOM.top + height];
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = ink;
  context.strokeStyle = line;
  context.lineWidth = 1;
  context.beginPath();
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { at, text } of timeTicks(window, width)) {
    const across = Math.round(x(at)) + 0.5;
    context.moveTo(across, ROOM.top);
    context.lineTo(across, bottom + 4);
    context.fillText(text, across, bottom + 7);
  }
  context.fillText(TIME_TITLE, ROOM.left + width / 2, bottom + 25);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { at, text } of byteTicks(window, height, segment)) {
    const up = Math.round(y(at)) + 0.5;
    context.moveTo(ROOM.left - 4, up);
    context.lineTo(right, up);
    context.fillText(text, ROOM.left - 7, up);
  }
  context.stroke();
  context.save();
  context.translate(10, ROOM.top + height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(byteTitle(segment), 0, 0);
  context.restore();
}
