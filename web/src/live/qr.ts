// QR codes as drawings.

import { encode } from "uqr";
import { svg } from "../dom";

/** Modules of quiet zone on each side (ISO/IEC 18004). */
const QUIET = 4;

/** The dark modules of a code as the path of a drawing, and the width of the drawing in modules. */
export function code(text: string): { size: number; path: string } {
  const { data, size } = encode(text, { ecc: "M", border: QUIET });
  const path = data.map((row, y) => {
    let runs = "";
    for (let x = 0; x < row.length; x++) {
      if (row[x] !== true) continue;
      const start = x;
      while (row[x] === true) x++;
      runs += `M${start},${y}h${x - start}v1h${start - x}z`;
    }
    return runs;
  });
  return { size, path: path.join("") };
}

/** A code, dark on white whatever the colours of the page are. */
export function drawing(text: string, label: string): SVGSVGElement {
  const { size, path } = code(text);
  return svg(
    "svg",
    { class: "code", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" },
    svg("rect", { width: size, height: size, fill: "#fff" }),
    svg("path", { d: path, fill: "#000" }),
  );
}
