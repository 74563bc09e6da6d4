// Figures as files for papers: the panels of a figure and its legend in one SVG, black on white, with what is not needed
// outside of a browser taken out.

import { svg } from "../dom";
import { colour, symbol } from "../palette";
import { symbolPath } from "./symbols";

const FONT = "Helvetica, Arial, sans-serif";
const GAP = 16;
const TITLE = 20;

export interface Plate {
  title: string;
  drawing: SVGSVGElement;
}

/** What a legend explains: a mark around the origin, filled or as a line of some width, and its name. */
export interface Entry {
  name: string;
  colour: string;
  path: string;
  line?: number;
}

export type Legend = Entry[];

/** Entries for levels of a factor, `[place, name]`. */
export function levels(all: readonly (readonly [number, string])[]): Legend {
  return all.map(([place, name]) => ({ name, colour: colour(place), path: symbolPath(symbol(place), 5) }));
}

/** A legend as one line of SVG, broken where `width` ends. */
export function legendDrawing(legend: Legend, width: number): SVGSVGElement {
  const drawing = svg("svg", { class: "legend", "font-family": FONT, "font-size": 12 });
  let [x, y] = [0, 0];
  for (const { name, colour, path, line } of legend) {
    const needed = 34 + 7 * name.length;
    if (x > 0 && x + needed > width) [x, y] = [0, y + 20];
    drawing.append(
      svg("path", { d: path, transform: `translate(${x + 8},${y + 10})`, ...painted(colour, line) }),
      svg("text", { x: x + 18, y: y + 14, fill: "currentColor" }, name),
    );
    x += needed;
  }
  drawing.setAttribute("width", String(width));
  drawing.setAttribute("height", String(y + 20));
  return drawing;
}

function painted(colour: string, line: number | undefined): Record<string, string | number> {
  return line === undefined ? { fill: colour } : { fill: "none", stroke: colour, "stroke-width": line };
}

function size(drawing: SVGSVGElement): [number, number] {
  return [Number(drawing.getAttribute("width")), Number(drawing.getAttribute("height"))];
}

/** The text of an SVG file with all panels, `columns` of them in a row. */
export function file(plates: readonly Plate[], legend: Legend, columns: number): string {
  const sheet = svg("svg", { xmlns: "http://www.w3.org/2000/svg", color: "black", "font-family": FONT });
  const body = svg("g");
  let [x, y, high, wide] = [GAP, GAP, 0, 0];
  plates.forEach(({ title, drawing }, place) => {
    const [width, height] = size(drawing);
    if (place > 0 && place % columns === 0) [x, y, high] = [GAP, y + high + GAP, 0];
    const room = title === "" ? 0 : TITLE;
    if (room > 0) body.append(svg("text", { x, y: y + 13, "font-size": 13, "font-weight": "bold", fill: "currentColor" }, title));
    const copy = clean(drawing.cloneNode(true) as SVGSVGElement);
    copy.setAttribute("x", String(x));
    copy.setAttribute("y", String(y + room));
    copy.setAttribute("overflow", "visible");
    body.append(copy);
    // Of a title nobody knows the width; this is a wide guess, and only the last one of a row needs room.
    const needed = Math.max(width, (place + 1) % columns === 0 ? 7.6 * title.length : 0);
    [x, high, wide] = [x + width + GAP, Math.max(high, height + room), Math.max(wide, x + needed + GAP)];
  });
  let bottom = y + high + GAP;
  if (legend.length > 0) {
    const drawing = clean(legendDrawing(legend, wide - 2 * GAP));
    drawing.setAttribute("x", String(GAP));
    drawing.setAttribute("y", String(bottom));
    body.append(drawing);
    bottom += size(drawing)[1] + GAP;
  }
  sheet.setAttribute("width", String(Math.ceil(wide)));
  sheet.setAttribute("height", String(Math.ceil(bottom)));
  sheet.setAttribute("viewBox", `0 0 ${Math.ceil(wide)} ${Math.ceil(bottom)}`);
  sheet.append(svg("rect", { width: "100%", height: "100%", fill: "white" }), body);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(sheet)}\n`;
}

/** Without style sheets, classes, tips and the font of the screen. */
function clean(drawing: SVGSVGElement): SVGSVGElement {
  for (const style of drawing.querySelectorAll("style, [aria-label=tip]")) style.remove();
  for (const element of [drawing, ...drawing.querySelectorAll("*")]) {
    element.removeAttribute("class");
    if (element.getAttribute("font-family") === "system-ui, sans-serif") element.removeAttribute("font-family");
    if (element instanceof SVGElement) element.style.removeProperty("background");
  }
  return drawing;
}
