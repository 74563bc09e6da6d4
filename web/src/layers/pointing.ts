// Handles wheel, pointer and keys.

import type { Screen } from "./screen";
import { moved, part, type Place, scaled, type Window } from "./window";

/** A pointer that moves less than this, in pixels, between down and up has clicked. */
const CLICK = 4;

/** Zoom for each unit of the wheel. */
const WHEEL = 0.0015;

export interface Actions {
  all: () => void;
  closer: () => void;
  farther: () => void;
  move: (x: number, y: number) => void;
  fit: () => void;
}

/** Listens on the screen; `show` shows another window. */
export function pointing(screen: Screen, show: (window: Window) => void, actions: Actions): void {
  const { element } = screen;
  let held: { at: Place; window: Window; x: number; y: number; far: boolean; rectangle: boolean } | null = null;
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      // With Shift, browsers turn a wheel sideways.
      const turned = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 30 : 1);
      const factor = Math.exp(Math.min(Math.max(turned, -600), 600) * WHEEL);
      show(scaled(screen.window, { x: event.altKey ? 1 : factor, y: event.shiftKey ? 1 : factor }, screen.place(event)));
    },
    { passive: false },
  );
  element.addEventListener("pointerdown", (event) => {
    const at = screen.place(event);
    if (event.button !== 0 || at.x < 0 || at.x > 1 || at.y < 0 || at.y > 1) return;
    held = { at, window: screen.window, x: event.clientX, y: event.clientY, far: false, rectangle: event.shiftKey };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const at = screen.place(event);
    if (held === null) return screen.point(at);
    held.far ||= Math.hypot(event.clientX - held.x, event.clientY - held.y) >= CLICK;
    if (!held.far) return;
    if (held.rectangle) screen.rectangle([held.at, at]);
    else show(moved(held.window, { x: held.at.x - at.x, y: held.at.y - at.y }));
  });
  element.addEventListener("pointerup", (event) => {
    if (held === null) return;
    const at = screen.place(event);
    const { far, rectangle, at: start } = held;
    held = null;
    screen.rectangle(null);
    if (far && rectangle) show(part(screen.window, start, at));
    else if (!far) {
      screen.ruler = screen.ruler.length === 1 ? [...screen.ruler, screen.spot(at)] : [screen.spot(at)];
      screen.point(at);
    }
  });
  element.addEventListener("pointercancel", () => {
    held = null;
    screen.rectangle(null);
  });
  element.addEventListener("pointerleave", () => screen.point(null));
  element.addEventListener("dblclick", actions.all);
  const keys: Record<string, () => void> = {
    ArrowLeft: () => actions.move(-0.25, 0),
    ArrowRight: () => actions.move(0.25, 0),
    ArrowUp: () => actions.move(0, 0.25),
    ArrowDown: () => actions.move(0, -0.25),
    "+": actions.closer,
    "-": actions.farther,
    "0": actions.all,
    f: actions.fit,
    Escape: () => {
      screen.ruler = [];
      screen.point(null);
    },
  };
  element.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
}
