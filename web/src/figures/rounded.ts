// Coordinates in files: with no more digits than a print has.

/** Numbers with a point: of those more digits than two are of no use in a coordinate. */
const LONG = /-?\d*\.\d+(?:e[-+]?\d+)?/g;

/** A text with its numbers to a hundredth of a pixel. */
export function rounded(text: string): string {
  return text.replace(LONG, (number) => String(Math.round(Number(number) * 100) / 100 || 0));
}
