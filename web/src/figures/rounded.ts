// Coordinates in files, without more digits than print can show.

/** Numbers with a decimal point; coordinates need only two decimals. */
const LONG = /-?\d*\.\d+(?:e[-+]?\d+)?/g;

/** A text with its numbers to a hundredth of a pixel. */
export function rounded(text: string): string {
  return text.replace(LONG, (number) => String(Math.round(Number(number) * 100) / 100 || 0));
}
