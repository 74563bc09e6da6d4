// Builds the page of a multi-layer view: switches above, the drawing, and the readout below.

import "../style.css";
import "./layers.css";
import { download, h } from "../dom";
import { fixed } from "../units";
import { read, type View } from "./data";
import { file } from "./file";
import { legend } from "./legend";
import { extent } from "./needed";
import { pointing } from "./pointing";
import { scene } from "./scene";
import { type Drawn, Screen } from "./screen";
import { firstFrom } from "./tile";
import { airy, moved, type Place, same, scaled, sensible, understood, type Window, words } from "./window";

const MIDDLE: Place = { x: 0.5, y: 0.5 };

/** Milliseconds without movement before the address is updated. */
const STILL = 200;

function build(view: View, root: HTMLElement): void {
  const drawing = scene(view, document);
  const screen = new Screen(drawing);
  const everything = (offsets: boolean) => airy(extent(view.graphs, offsets) ?? { from: 0, to: 1e9, low: 0, high: 1 });
  const [apart, together] = [everything(true), everything(false)];
  const whole = () => (drawing.offsets ? apart : together);
  let later: ReturnType<typeof setTimeout> | undefined;
  let said = location.hash;
  const say = () => {
    // The reader has entered another address; it applies when the browser reports it.
    if (location.hash !== said) return;
    said = same(screen.window, whole()) ? "" : `#${words(screen.window)}`;
    if (said !== location.hash) history.replaceState(null, "", said === "" ? location.pathname + location.search : said);
  };
  const show = (window: Window) => {
    screen.show(sensible(window, whole()));
    clearTimeout(later);
    later = setTimeout(say, STILL);
  };

  /** Fits the height to the content between the times shown. */
  const fit = async () => {
    const { from, to } = screen.window;
    const tall = { from, to, low: -Infinity, high: Infinity };
    const pixel = { ns: (to - from) / screen.size.width, bytes: Infinity };
    for (let { missing } = drawing.parts(tall, pixel); missing.length > 0; { missing } = drawing.parts(tall, pixel)) await drawing.bring(missing);
    let [low, high] = [Infinity, -Infinity];
    for (const { graph, offset, tiles } of drawing.parts(tall, pixel).parts) {
      if (graph.shape === "marks") continue;
      for (const { time, bytes } of tiles) {
        for (let place = firstFrom(time, from); place < time.length && (time[place] as number) <= to; place++) {
          const value = (bytes[place] as number) + offset;
          [low, high] = [Math.min(low, value), Math.max(high, value)];
        }
      }
    }
    if (low > high) return screen.draw();
    const { low: bottom, high: top } = airy({ from, to, low, high });
    show({ from, to, low: bottom, high: top });
  };

  /** The window in the address, or everything. */
  const follow = () => {
    const wanted = understood(location.hash);
    if (wanted === null) return show(whole());
    const { low, high } = whole();
    show({ from: wanted.from, to: wanted.to, low: wanted.bytes?.[0] ?? low, high: wanted.bytes?.[1] ?? high });
    if (wanted.bytes === null) actions.fit();
  };
  addEventListener("hashchange", () => {
    if (location.hash === said) return;
    said = location.hash;
    follow();
  });

  const actions = {
    all: () => show(whole()),
    closer: () => show(scaled(screen.window, { x: 0.5, y: 0.5 }, MIDDLE)),
    farther: () => show(scaled(screen.window, { x: 2, y: 2 }, MIDDLE)),
    move: (x: number, y: number) => show(moved(screen.window, { x, y })),
    fit: () => void fit().catch(screen.fail),
  };
  pointing(screen, show, actions);

  const offsets = h("input", { type: "checkbox", id: "offsets", checked: true });
  offsets.addEventListener("change", () => {
    drawing.offsets = offsets.checked;
    screen.ruler = [];
    screen.draw();
  });
  const segment = h("input", { type: "number", id: "segment", min: 1, step: 1, placeholder: "none" });
  segment.addEventListener("input", () => {
    const bytes = Number(segment.value);
    screen.segment = bytes >= 1 ? bytes : null;
    screen.draw();
  });
  const save = () => {
    const offset = (label: string) => {
      const graph = view.graphs.find((graph, place) => graph.label === label && drawing.shown[place] === true);
      return graph && drawing.offset(graph);
    };
    const regressions = view.regressions.flatMap((line) => {
      const added = offset(line.label);
      return added === undefined ? [] : [{ ...line, offset: added }];
    });
    const text = file({ title: view.title, window: screen.window, parts: screen.parts, regressions, segment: screen.segment });
    download("layers.svg", "image/svg+xml", text);
  };
  const button = (text: string, title: string, onclick: () => void) => h("button", { type: "button", title, onclick }, text);
  const state = h("p", { class: "state", "data-state": "" });
  screen.drawn = (drawn) => {
    const { from, to, low, high } = screen.window;
    Object.assign(screen.element.dataset, { range: `${from} ${to} ${low} ${high}`, points: String(drawn.points), detail: drawn.waiting ? "waiting" : drawn.detail });
    state.textContent = sentence(drawn);
    if (!drawn.waiting && performance.getEntriesByName("layers drawn").length === 0) performance.mark("layers drawn");
  };
  const total = view.graphs.reduce((sum, { points }) => sum + points, 0);
  const notes = view.notes.length > 0 ? [h("ul", { class: "notes" }, ...view.notes.map((note) => h("li", {}, note)))] : [];
  root.replaceChildren(
    h("h1", {}, view.title),
    h(
      "div",
      { class: "row" },
      legend(drawing, () => screen.draw()),
    ),
    h(
      "div",
      { class: "row switches" },
      h("label", { class: "box" }, offsets, " offsets between layers"),
      h("label", { class: "box" }, "bytes per segment ", segment),
      button("−", "show more", actions.farther),
      button("+", "show less", actions.closer),
      button("Fit bytes", "fit the byte axis to the points between these times", actions.fit),
      button("All", "show everything", actions.all),
      h("button", { type: "button", class: "save", title: "save the visible part as a drawing", onclick: save }, "Save as SVG"),
    ),
    screen.element,
    state,
    h(
      "p",
      { class: "hint" },
      `${fixed(total, 0)} points. Wheel: zoom (with Shift time only, with Alt bytes only). Drag: move; with Shift: zoom to a rectangle. ` +
        "Click two points: time, bytes and rate between them. Keys: arrows, +, −, 0, F (fit bytes), Escape.",
    ),
    ...notes,
  );
  let before = "";
  const resize = () => {
    const [width, height] = [Math.max(root.clientWidth - 40, 320), Math.max(innerHeight - 300, 360)];
    if (before === `${width} ${height} ${devicePixelRatio}`) return;
    before = `${width} ${height} ${devicePixelRatio}`;
    screen.resize(width, height);
  };
  resize();
  new ResizeObserver(resize).observe(root);
  addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => screen.draw());
  follow();
}

function sentence({ points, waiting, detail }: Drawn): string {
  const drawn = `${fixed(points, 0)} points are drawn`;
  if (waiting) return `${drawn}; more are being read.`;
  if (detail === "all") return `${drawn}: all points of this window.`;
  if (detail === "pixel") return `${drawn}, one per pixel. Zoom in to see all of them.`;
  return `${drawn}; this window has more points than one frame can draw. Zoom in to see them.`;
}

const root = document.getElementById("layers") ?? document.body;
try {
  build(read(document), root);
} catch (error) {
  root.replaceChildren(h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
  throw error;
}
