// Axes of the live charts. Pure.

/** Round numbers that an axis may end at, times a power of ten. */
const ENDS = [1, 1.5, 2, 3, 5, 7, 10];

/**
 * A limit is drawn up to this multiple of the greatest value; a higher one would flatten the lines.
 */
const LIMIT = 3;

/** The end of an axis for these values: a round number that changes rarely. */
export function ceiling(greatest: number, limit: number, least: number): number {
  const highest = Math.max(greatest, limit <= greatest * LIMIT ? limit : 0, least);
  const power = 10 ** Math.floor(Math.log10(highest));
  return (ENDS.find((end) => end * power >= highest * 1.02) ?? 15) * power;
}

/** Times of the ticks: so many seconds ago, as whole parts of the range. */
export function ticks(now: number, range: number): number[] {
  const parts = range === 600 ? 5 : range === 60 ? 6 : 5;
  return Array.from({ length: parts + 1 }, (_, place) => now - range + (place * range) / parts);
}

/** The text of a tick. */
export function ago(seconds: number, range: number): string {
  const back = Math.round(seconds);
  if (back === 0) return "now";
  return range > 60 ? `−${back / 60} min` : `−${back} s`;
}
