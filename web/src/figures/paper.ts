// Figures as files for papers: the panels of a figure and its legend in one SVG, black on white,
// with what is not needed outside of a browser taken out.

import { svg } from "../dom";
import { colour, symbol } from "../palette";
import { rounded } from "./rounded";
import { symbolPath } from "./symbols";

const FONT = "Helvetica, Arial, sans-serif";
const GAP = 16;
const TITLE = 18;
/** Assumed width of a title's letter in pixels: a generous estimate. */
const LETTER = 7.6;

/** A figure as a file. */
export interface Saved {
  name: string;
  text: string;
}

/** Reduces a text to letters, digits, dots and hyphens, for a file name. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
}

export interface Plate {
  title: string;
  drawing: SVGSVGElement;
}

/**
 * What a legend explains: a mark around the origin, filled or as a line of some width, and its
 * name.
 */
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

/**
 * A text in lines that are no wider than `width` pixels, broken behind commas; letters are guessed
 * to be wide.
 */
export function broken(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const part of text.split(/(?<=,) /)) {
    const last = lines.at(-1);
    if (last !== undefined && LETTER * (last.length + 1 + part.length) <= width) lines[lines.length - 1] = `${last} ${part}`;
    else if (part !== "") lines.push(part);
  }
  return lines;
}

/** The text of an SVG file with all panels, `columns` of them in a row. */
export function file(plates: readonly Plate[], legend: Legend, columns: number): string {
  const sheet = svg("svg", { xmlns: "http://www.w3.org/2000/svg", color: "black", "font-family": FONT });
  const body = svg("g");
  let [y, wide] = [GAP, 0];
  for (let start = 0; start < plates.length; start += columns) {
    const row = plates.slice(start, start + columns).map(({ title, drawing }) => ({ drawing, title: broken(title, size(drawing)[0]) }));
    const room = TITLE * Math.max(...row.map(({ title }) => title.length));
    let [x, high] = [GAP, 0];
    for (const { title, drawing } of row) {
      const [width, height] = size(drawing);
      title.forEach((text, line) => {
        body.append(svg("text", { x, y: y + 13 + TITLE * line, "font-size": 13, "font-weight": "bold", fill: "currentColor" }, text));
      });
      const copy = clean(drawing.cloneNode(true) as SVGSVGElement);
      copy.setAttribute("x", String(x));
      copy.setAttribute("y", String(y + room));
      copy.setAttribute("overflow", "visible");
      body.append(copy);
      // A word can be wider than its panel.
      const needed = Math.max(width, ...title.map((text) => LETTER * text.length));
      [x, high, wide] = [x + width + GAP, Math.max(high, height), Math.max(wide, x + needed + GAP)];
    }
    y += room + high + GAP;
  }
  let bottom = y;
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
  rename(body);
  sheet.append(svg("rect", { width: "100%", height: "100%", fill: "white" }), body);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(sheet)}\n`;
}

/** Attributes with coordinates. */
const COORDINATES = ["d", "transform", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"];

/** Removes style sheets, classes, tips, the screen font and excess digits. */
function clean(drawing: SVGSVGElement): SVGSVGElement {
  for (const element of drawing.querySelectorAll("style, title, [aria-label=tip]")) element.remove();
  for (const element of [drawing, ...drawing.querySelectorAll("*")]) {
    element.removeAttribute("class");
    if (element.getAttribute("font-family") === "system-ui, sans-serif") element.removeAttribute("font-family");
    if (element instanceof SVGElement) element.style.removeProperty("background");
    for (const name of COORDINATES) {
      const value = element.getAttribute(name);
      if (value !== null) element.setAttribute(name, rounded(value));
    }
  }
  return drawing;
}

/** Numbers references from 1: the page's counter includes earlier drawings. */
function rename(body: SVGElement): void {
  const known = new Map([...body.querySelectorAll("[id]")].map((element, place) => [element.id, `part-${place + 1}`]));
  for (const element of body.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (name === "id") element.id = known.get(value) ?? value;
      else if (value.startsWith("url(#")) element.setAttribute(name, `url(#${known.get(value.slice(5, -1)) ?? ""})`);
    }
  }
}
