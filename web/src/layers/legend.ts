// The legend: a box for each graph that switches it on and off.

import { h, svg } from "../dom";
import { fixed } from "../units";
import type { Scene } from "./scene";
import { DASHES, type Look, outline } from "./symbols";

/** A symbol as it is in the drawing. */
function symbol(look: Look): SVGSVGElement {
  const filled = look.shape === "dots" && look.variant === 0;
  const dash = look.shape === "steps" || look.shape === "marks" ? (DASHES[look.variant] ?? []) : [];
  return svg(
    "svg",
    { width: 18, height: 14, viewBox: "-9 -7 18 14", "aria-hidden": "true" },
    svg("path", { d: outline(look), ...(filled ? { fill: look.colour } : { fill: "none", stroke: look.colour, "stroke-width": 1.4, "stroke-dasharray": dash.join(" ") }) }),
  );
}

/** The legend of a scene; calls `changed` at every switch. */
export function legend(scene: Scene, changed: () => void): HTMLElement {
  const entry = (place: number) => {
    const graph = scene.view.graphs[place];
    const look = scene.looks[place];
    if (graph === undefined || look === undefined) return null;
    const box = h("input", { type: "checkbox", checked: true, "data-graph": graph.label });
    box.addEventListener("change", () => {
      scene.shown[place] = box.checked;
      changed();
    });
    const offset = graph.offset === 0 ? "" : ` ${graph.offset > 0 ? "+" : "−"} ${fixed(Math.abs(graph.offset), 0)} bytes`;
    const title = `${fixed(graph.points, 0)} points${offset === "" ? "" : `, drawn with${offset} while offsets are on`}`;
    return h("li", { title }, h("label", { class: "box" }, box, symbol(look), graph.label));
  };
  return h("ul", { class: "key", "aria-label": "Graphs" }, ...scene.view.graphs.map((_, place) => entry(place)));
}
