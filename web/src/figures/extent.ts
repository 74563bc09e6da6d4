// Where axes begin and end. Pure.

export type Extent = [number, number];

/** Least and greatest of the numbers; `null` of none. */
export function extent(values: Iterable<number | null | undefined>): Extent | null {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value === null || value === undefined) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/** An axis for the values: from 0 unless all of them are far from it, with some air at the ends. */
export function axis(values: Extent | null): Extent {
  if (values === null) return [0, 1];
  const [low, high] = values;
  if (low === high) return low === 0 ? [0, 1] : low > 0 ? [0, high * 1.1] : [low * 1.1, 0];
  const air = (high - low) * 0.06;
  if (low >= 0 && low < high * 0.6) return [0, high + air];
  return [low - air, high + air];
}

/** One axis for all panels, or each its own where the greatest values are more than four times apart. */
export function axes(panels: readonly (Extent | null)[]): { each: Extent[]; shared: boolean } {
  const known = panels.filter((panel) => panel !== null);
  const highs = known.map(([, high]) => high).filter((high) => high > 0);
  const shared = highs.length < 2 || Math.max(...highs) <= 4 * Math.min(...highs);
  const together = axis(extent(known.flat()));
  return { each: panels.map((panel) => (shared ? together : axis(panel))), shared };
}
