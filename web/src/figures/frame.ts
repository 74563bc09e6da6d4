// A figure on the page: panels side by side, a legend, a caption, and a button that saves the whole
// as SVG.

import { download, h } from "../dom";
import { file, type Legend, legendDrawing, type Plate, type Saved } from "./paper";

export interface FigureParts {
  /** Name of the file, without its ending. */
  name: string;
  plates: Plate[];
  legend: Legend;
  /** Title of the legend. */
  legendTitle: string;
  caption: (Node | string)[];
  width: number;
  columns: number;
}

/** Builds a figure. */
export function frame(parts: FigureParts): HTMLElement {
  const panels = parts.plates.map(({ title, drawing }) =>
    h("div", { class: "panel" }, title !== "" && h("h4", {}, title), drawing),
  );
  return h(
    "figure",
    { "data-name": parts.name },
    parts.legend.length > 0 &&
      h("div", { class: "key" }, h("span", {}, `${parts.legendTitle}: `), legendDrawing(parts.legend, Math.max(parts.width - 180, 200))),
    h("div", { class: "panels" }, ...panels),
    h("figcaption", {}, ...parts.caption, " ", saveButton(() => saved(parts))),
  );
}

/** Returns the figure as a file. */
export function saved({ name, plates, legend, columns }: FigureParts): Saved {
  return { name: `${name}.svg`, text: file(plates, legend, columns) };
}

/** The button below a figure. */
export function saveButton(file: () => Saved): HTMLElement {
  const save = () => {
    const { name, text } = file();
    download(name, "image/svg+xml", text);
  };
  return h("button", { type: "button", class: "save", onclick: save }, "Save as SVG");
}

/** Number of panels side by side in `width` pixels, and the width of each. */
export function layout(panels: number, width: number, least: number): { columns: number; each: number } {
  const columns = Math.max(1, Math.min(panels, Math.floor(width / least)));
  return { columns, each: Math.floor(Math.min((width - 16 * (columns - 1)) / columns, 1080)) };
}
