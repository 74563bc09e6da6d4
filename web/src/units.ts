// Formats numbers for readers: a unit of suitable size, and only significant digits.

/** A unit to show values in: multiply with `scale`, write `unit` behind. */
export interface Shown {
  scale: number;
  unit: string;
}

const LADDERS: Record<string, [number, string][]> = {
  "bit/s": [
    [1, "bit/s"],
    [1e3, "kbit/s"],
    [1e6, "Mbit/s"],
    [1e9, "Gbit/s"],
  ],
  bytes: [
    [1, "bytes"],
    [1e3, "kB"],
    [1e6, "MB"],
    [1e9, "GB"],
  ],
  ms: [
    [1e-3, "µs"],
    [1, "ms"],
    [1e3, "s"],
  ],
  s: [
    [1e-3, "ms"],
    [1, "s"],
  ],
};

/** The unit in which the greatest of `values` has one to four digits before the point. */
export function shown(unit: string, values: Iterable<number | null>): Shown {
  let greatest = 0;
  for (const value of values) greatest = Math.max(greatest, Math.abs(value ?? 0));
  const ladder = LADDERS[unit];
  if (ladder === undefined) return { scale: 1, unit };
  let chosen = ladder[0] as [number, string];
  if (greatest === 0) chosen = ladder.find(([size]) => size === 1) ?? chosen;
  for (const step of ladder) if (greatest >= step[0]) chosen = step;
  return { scale: 1 / chosen[0], unit: chosen[1] };
}

/** With `digits` significant digits, and a thin space between thousands. */
export function number(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  const behind = Math.max(0, Math.min(digits - before, 9));
  const text = Math.abs(value).toFixed(behind);
  const trimmed = text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  const [whole = "0", part] = trimmed.split(".");
  const sign = value < 0 && Number(trimmed) !== 0 ? "−" : "";
  return sign + group(whole) + (part === undefined ? "" : `.${part}`);
}

/**
 * Decimals with which the greatest of a column's values has `digits` digits; all of the column get
 * as many.
 */
export function decimals(values: Iterable<number | null | undefined>, digits = 4): number {
  let greatest = 0;
  for (const value of values) greatest = Math.max(greatest, Math.abs(value ?? 0));
  return greatest === 0 ? 0 : Math.max(0, Math.min(digits - 1 - Math.floor(Math.log10(greatest)), 9));
}

/** With so many decimals. */
export function fixed(value: number | null | undefined, places: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [whole = "0", part] = Math.abs(value).toFixed(places).split(".");
  const text = group(whole) + (part === undefined ? "" : `.${part}`);
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}

/** A value with its unit, in `digits` digits: the width of its text hardly changes. */
export function quantity(value: number | null | undefined, unit: string, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const { scale, unit: chosen } = shown(unit, [value]);
  return `${fixed(value * scale, Math.min(decimals([value * scale], digits), 3))} ${chosen}`;
}

/** Thin spaces between thousands; four digits are read without. */
function group(whole: string): string {
  return whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
}

/** Formats a p-value; values below a thousandth are not distinguished. */
export function probability(p: number): string {
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

/** Both ends of an interval. */
export function range(low: number, high: number, digits = 4): string {
  return low === high ? number(low, digits) : `${number(low, digits)} to ${number(high, digits)}`;
}

/** Formats a duration in its two largest units. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${number(seconds, 3)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
}

/** An instant, in UTC. */
export function instant(milliseconds: number): string {
  const text = new Date(milliseconds).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}

/** How large an effect is, in words. */
export function effect(a12: number, magnitude: string, first: string, second: string): string {
  if (Math.abs(a12 - 0.5) < 0.005) return `${magnitude}: neither is higher`;
  const [higher, share] = a12 > 0.5 ? [first, a12] : [second, 1 - a12];
  return `${magnitude}: ${higher} is higher in ${(share * 100).toFixed(0)} % of pairs`;
}
