// The drawing on the screen, as three stacked canvases. The lowest has axes, steps and marks, the
// middle one the points, the highest the overlays (regressions, the ruler). A moving pointer
// therefore redraws the overlays only.

import { h } from "../dom";
import { axes, ROOM } from "./axes";
import { countBetween, crowded, marks, merged, Picture, type Scale, steps } from "./paint";
import { between, nearest, rateWords, REACH, type Spot, told } from "./readout";
import type { Part, Scene } from "./scene";
import { FEW } from "./symbols";
import type { Place, Window } from "./window";

/** The result of drawing a frame. */
export interface Drawn {
  /** Points inside. */
  points: number;
  /** Whether tiles are still missing. */
  waiting: boolean;
  /** The coarsest detail among the graphs. */
  detail: Part["detail"];
}

export class Screen {
  readonly element: HTMLElement;
  readonly #scene: Scene;
  readonly #canvases = [0, 1, 2].map(() => h("canvas", { "aria-hidden": "true" }));
  readonly #tip = h("div", { class: "tip", hidden: true });
  #size = { width: 1, height: 1 };
  #ratio = 1;
  #picture: Picture | null = null;
  #window: Window = { from: 0, to: 1, low: 0, high: 1 };
  #parts: Part[] = [];
  #frame = 0;
  #pointer: Place | null = null;
  #rectangle: [Place, Place] | null = null;
  /** Ends of the ruler. */
  ruler: Spot[] = [];
  /** Bytes of a segment, if the axis is in segments. */
  segment: number | null = null;
  /** Called after every frame. */
  drawn: (drawn: Drawn) => void = () => {};

  constructor(scene: Scene) {
    this.#scene = scene;
    this.element = h("div", { class: "layers", tabindex: 0, role: "img" }, ...this.#canvases, this.#tip);
    this.element.setAttribute("aria-label", "Multi-layer plot. Arrow keys move, plus and minus zoom, 0 shows everything, F fits the bytes, Escape clears the ruler.");
  }

  /** Makes it as large as this, in pixels of the page. */
  resize(width: number, height: number): void {
    this.#ratio = globalThis.devicePixelRatio || 1;
    this.#size = { width: Math.max(width - ROOM.left - ROOM.right, 50), height: Math.max(height - ROOM.top - ROOM.bottom, 50) };
    for (const canvas of this.#canvases) {
      [canvas.width, canvas.height] = [Math.round(width * this.#ratio), Math.round(height * this.#ratio)];
      [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    }
    this.element.style.height = `${height}px`;
    this.#picture = new Picture(this.#area());
    this.draw();
  }

  get window(): Window {
    return this.#window;
  }

  /** The drawing without its axes, in pixels of the page. */
  get size(): { width: number; height: number } {
    return this.#size;
  }

  /** What is drawn now, for a file. */
  get parts(): readonly Part[] {
    return this.#parts;
  }

  show(window: Window): void {
    this.#window = window;
    this.draw();
  }

  /** Where a pointer is, as shares of the drawing; beside it less than 0 or more than 1. */
  place(event: MouseEvent): Place {
    const box = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - ROOM.left, event.clientY - box.top - ROOM.top];
    return { x: x / this.#size.width, y: 1 - y / this.#size.height };
  }

  /** Shows a description at a place, or hides it. */
  point(place: Place | null): void {
    this.#pointer = place !== null && place.x >= 0 && place.x <= 1 && place.y >= 0 && place.y <= 1 ? place : null;
    this.#over();
  }

  /** Shows the part that a selection would zoom to. */
  rectangle(corners: [Place, Place] | null): void {
    this.#rectangle = corners;
    this.#over();
  }

  /** The point nearest to a place, or the place itself. */
  spot({ x, y }: Place): Spot {
    const { from, to, low, high } = this.#window;
    const [time, bytes] = [from + x * (to - from), low + y * (high - low)];
    return this.#nearest({ x, y }) ?? { time, drawn: bytes, bytes, label: null };
  }

  /** Draws at the next frame. */
  draw(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#now());
  }

  #area() {
    const { width, height } = this.#size;
    return { width: Math.round(width * this.#ratio), height: Math.round(height * this.#ratio), ratio: this.#ratio };
  }

  #scale(): Scale {
    const { from, to, low, high } = this.#window;
    const { width, height } = this.#size;
    return {
      x: (time) => ROOM.left + ((time - from) / (to - from)) * width,
      y: (bytes) => ROOM.top + ((high - bytes) / (high - low)) * height,
    };
  }

  #context(place: number): CanvasRenderingContext2D | null {
    const canvas = this.#canvases[place];
    const context = canvas?.getContext("2d") ?? null;
    context?.setTransform(1, 0, 0, 1, 0, 0);
    context?.clearRect(0, 0, canvas?.width ?? 0, canvas?.height ?? 0);
    context?.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    return context;
  }

  /** Nothing is drawn beside the axes. */
  #clipped(context: CanvasRenderingContext2D, draw: () => void): void {
    context.save();
    context.beginPath();
    context.rect(ROOM.left, ROOM.top, this.#size.width, this.#size.height);
    context.clip();
    draw();
    context.restore();
  }

  #now(): void {
    this.#frame = 0;
    const [below, middle] = [this.#context(0), this.#context(1)];
    if (below === null || middle === null || this.#picture === null) return;
    const window = this.#window;
    const { width, height } = this.#size;
    const area = this.#area();
    const { parts, missing } = this.#scene.parts(window, { ns: (window.to - window.from) / area.width, bytes: (window.high - window.low) / area.height });
    this.#parts = parts;
    const scale = this.#scale();
    const colours = getComputedStyle(this.element);
    axes(below, window, scale, { width, height, segment: this.segment, ink: colours.color, line: colours.getPropertyValue("--line") });
    const picture = this.#picture;
    picture.clear();
    let points = 0;
    const few = parts.reduce((sum, { tiles }) => sum + tiles.reduce((part, tile) => part + countBetween(tile, window), 0), 0) < FEW;
    this.#clipped(below, () => {
      below.lineWidth = 1.25;
      for (const { graph, look, offset, tiles } of parts) {
        if (graph.shape === "dots" || graph.shape === "crosses") {
          for (const tile of tiles) points += picture.set(tile, window, offset, look, few);
        } else if (graph.shape === "steps") {
          points += steps(below, merged(tiles, window.from, window.to), window, offset, look, scale);
        } else {
          const times = merged(tiles, window.from, window.to).map(({ time }) => time).filter((time) => time >= window.from);
          points += times.length;
          marks(below, times, window, look, scale, width);
        }
      }
    });
    picture.put(middle, Math.round(ROOM.left * this.#ratio), Math.round(ROOM.top * this.#ratio));
    this.#over();
    if (missing.length > 0) void this.#scene.bring(missing).then((there) => there && this.draw(), this.fail);
    const details = parts.map(({ detail }) => detail);
    const detail = details.includes("coarse") ? "coarse" : details.includes("pixel") ? "pixel" : "all";
    this.drawn({ points, waiting: missing.length > 0, detail });
  }

  /** Shows an error instead of the drawing. */
  readonly fail = (error: unknown): void => {
    this.element.replaceChildren(h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
  };

  #over(): void {
    const context = this.#context(2);
    if (context === null) return;
    const colours = getComputedStyle(this.element);
    const [ink, paper] = [colours.color, colours.getPropertyValue("--paper")];
    const scale = this.#scale();
    context.font = "12px system-ui, sans-serif";
    this.#clipped(context, () => {
      this.#regressions(context, scale, ink, paper);
      this.#measure(context, scale, ink, paper);
      if (this.#rectangle !== null) {
        const [one, other] = this.#rectangle.map(({ x, y }) => [ROOM.left + x * this.#size.width, ROOM.top + (1 - y) * this.#size.height]);
        context.strokeStyle = ink;
        context.lineWidth = 1;
        context.setLineDash([4, 3]);
        const [left = 0, top = 0] = one ?? [];
        const [right = 0, bottom = 0] = other ?? [];
        context.strokeRect(left, top, right - left, bottom - top);
        context.setLineDash([]);
      }
    });
    this.#describe(scale);
  }

  #regressions(context: CanvasRenderingContext2D, { x, y }: Scale, ink: string, paper: string): void {
    const { view, shown } = this.#scene;
    const { from, to } = this.#window;
    let row = 0;
    for (const { label, from_ns, to_ns, bytes, slope } of view.regressions) {
      const place = view.graphs.findIndex((graph) => graph.label === label);
      const graph = view.graphs[place];
      if (graph === undefined || shown[place] !== true) continue;
      const at = (time: number) => bytes + ((time - from_ns) / 1e9) * slope + this.#scene.offset(graph);
      const [start, end] = [Math.max(from, from_ns), Math.min(to, to_ns)];
      if (start >= end) continue;
      context.strokeStyle = ink;
      context.lineWidth = 1.25;
      context.setLineDash([8, 4]);
      context.beginPath();
      context.moveTo(x(start), y(at(start)));
      context.lineTo(x(end), y(at(end)));
      context.stroke();
      context.setLineDash([]);
      // Beside the line where there is room, one text below the other.
      written(context, `${label}: ${rateWords(slope)}`, ROOM.left + 10, ROOM.top + 40 + 20 * row, ink, paper);
      row += 1;
    }
  }

  #measure(context: CanvasRenderingContext2D, { x, y }: Scale, ink: string, paper: string): void {
    const [one, other] = this.ruler;
    delete this.element.dataset["ruler"];
    for (const { time, drawn } of this.ruler) {
      context.strokeStyle = ink;
      context.lineWidth = 1.5;
      context.beginPath();
      context.arc(x(time), y(drawn), 6, 0, 2 * Math.PI);
      context.stroke();
    }
    if (one === undefined || other === undefined) return;
    context.beginPath();
    context.moveTo(x(one.time), y(one.drawn));
    context.lineTo(x(other.time), y(other.drawn));
    context.stroke();
    const text = between(one, other, this.segment);
    this.element.dataset["ruler"] = text;
    const across = Math.min(Math.max((x(one.time) + x(other.time)) / 2, ROOM.left + 10), ROOM.left + this.#size.width - context.measureText(text).width - 14);
    const up = Math.min(Math.max((y(one.drawn) + y(other.drawn)) / 2, ROOM.top + 16), ROOM.top + this.#size.height - 10);
    written(context, text, across, up, ink, paper);
  }

  #nearest({ x, y }: Place): Spot | null {
    const { width, height } = this.#size;
    const { from, to, low, high } = this.#window;
    const reach = (REACH / width) * (to - from);
    const time = from + x * (to - from);
    const crowds = new Map(this.#parts.map((part) => [part, part.graph.shape === "marks" && this.#short(part)]));
    const tiles = this.#parts.flatMap((part) =>
      crowds.get(part) === true ? [] : part.tiles.map((points) => ({ points, label: part.graph.label, offset: part.offset, mark: part.graph.shape === "marks" })),
    );
    return nearest(tiles, time - reach, time + reach, (at, bytes) => {
      const across = ((at - from) / (to - from) - x) * width;
      // A mark is everywhere; a point beside it is meant first.
      return bytes === null ? Math.abs(across) + REACH / 2 : Math.hypot(across, ((bytes - low) / (high - low) - y) * height);
    });
  }

  /** Whether marks are too many to be drawn over the whole height. */
  #short({ tiles }: Part): boolean {
    const { from, to } = this.#window;
    return crowded(merged(tiles, from, to).length, this.#size.width);
  }

  #describe({ x, y }: Scale): void {
    const spot = this.#pointer === null || this.#rectangle !== null ? null : this.#nearest(this.#pointer);
    this.#tip.hidden = spot === null;
    this.#tip.textContent = spot === null ? "" : told(spot, this.segment);
    if (spot === null || this.#pointer === null) return;
    const [across, up] = [x(spot.time), ROOM.top + (1 - this.#pointer.y) * this.#size.height];
    const right = across > ROOM.left + this.#size.width / 2;
    this.#tip.style.left = right ? "" : `${across + 14}px`;
    this.#tip.style.right = right ? `${this.element.clientWidth - across + 14}px` : "";
    this.#tip.style.top = `${Math.min(Math.min(up, y(this.#window.low)) + 10, this.element.clientHeight - this.#tip.offsetHeight)}px`;
  }
}

/** A text on a ground of its own, so that points do not hide it. */
function written(context: CanvasRenderingContext2D, text: string, left: number, middle: number, ink: string, paper: string): void {
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.globalAlpha = 0.85;
  context.fillStyle = paper;
  context.fillRect(left - 4, middle - 10, context.measureText(text).width + 8, 20);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.fillText(text, left, middle);
}
