// Lines of SVG that stay small however many points a plot has: what would print on the same quarter
// of a pixel is drawn once. No stroke, tick or cross that can be told apart from others is lost.
// Pure; all numbers are pixels, y downwards.

/** Distinct steps in a pixel: at a print's 100 pixels per inch a step is 0.06 mm. */
const STEPS = 4;

/** A stroke is seen however short it is. */
const SHORTEST = 3;

/** Half the length of a tick and of the arms of a cross. */
const [TICK, ARM] = [3, 4];

export interface Stroke {
  x: number;
  /** The lower end in the picture, so that `low` is not less than `high`. */
  low: number;
  high: number;
}

function snap(value: number): number {
  return Math.round(value * STEPS) / STEPS;
}

/** Vertical strokes; those that touch one another in one column are one. */
export function strokes(all: readonly Stroke[]): string {
  const columns = new Map<number, [number, number][]>();
  for (const { x, low, high } of all) {
    const column = snap(x);
    const ends: [number, number] = [snap(high), snap(Math.max(low, high + SHORTEST))];
    const known = columns.get(column);
    if (known === undefined) columns.set(column, [ends]);
    else known.push(ends);
  }
  return [...columns].flatMap(([x, ranges]) => union(ranges).map(([from, to]) => `M${x},${from}V${to}`)).join("");
}

/** Ranges without those that others hold, and touching ones as one. */
function union(ranges: [number, number][]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [from, to] of ranges.sort((one, other) => one[0] - other[0])) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/**
 * A line that stays at each point's height until the next one, and at the last one's until `end`.
 * Times do not go back.
 */
export function steps(points: readonly { x: number; y: number }[], end: number): string {
  let path = "";
  let [column, level]: [number | null, number] = [null, 0];
  let heights: number[] = [];
  const draw = () => {
    if (column === null) return;
    if (path === "") {
      path = `M${column},${heights[0]}`;
      level = heights[0] ?? 0;
    } else path += `H${column}`;
    // The way up and down within the column, and where it leaves it.
    for (const height of [Math.min(...heights), Math.max(...heights), heights.at(-1) ?? level]) {
      if (height === level) continue;
      path += `V${height}`;
      level = height;
    }
  };
  for (const { x, y } of points) {
    const [across, height] = [snap(x), snap(y)];
    if (across === column) heights.push(height);
    else if (heights.at(-1) === height) continue;
    else {
      draw();
      [column, heights] = [across, [height]];
    }
  }
  draw();
  return path === "" ? "" : `${path}H${snap(end)}`;
}

/** Short lines across. */
export function ticks(points: readonly { x: number; y: number }[]): string {
  return marks(points, (x, y) => `M${x - TICK},${y}h${2 * TICK}`);
}

/** Crosses around points. */
export function crosses(points: readonly { x: number; y: number }[]): string {
  return marks(points, (x, y) => `M${x - ARM},${y - ARM}l${2 * ARM},${2 * ARM}m${-2 * ARM},0l${2 * ARM},${-2 * ARM}`);
}

function marks(points: readonly { x: number; y: number }[], mark: (x: number, y: number) => string): string {
  return [...new Set(points.map(({ x, y }) => mark(snap(x), snap(y))))].join("");
}
