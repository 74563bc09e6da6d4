// Where axes begin and end. Pure.

export type Extent = [number, number];

/** Minimum and maximum of the numbers; `null` if there are none. */
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

/** Maxima with a larger ratio than this do not share an axis. */
export const FAR = 4;

/**
 * One axis for all panels whose greatest values are of like size: for all of them, or for each
 * group of such.
 */
export function axes(panels: readonly (Extent | null)[]): { each: Extent[]; shared: boolean } {
  const height = (panel: Extent | null) => panel?.[1] ?? 0;
  const places = panels.map((_, place) => place).sort((one, other) => height(panels[one] ?? null) - height(panels[other] ?? null));
  const groups: { least: number; members: number[] }[] = [];
  for (const place of places) {
    const high = height(panels[place] ?? null);
    const group = groups.at(-1);
    if (group !== undefined && (group.least <= 0 || high <= FAR * group.least)) {
      group.members.push(place);
      if (group.least <= 0) group.least = high;
    } else groups.push({ least: high, members: [place] });
  }
  const each = panels.map((panel) => axis(panel));
  for (const { members } of groups) {
    const together = axis(extent(members.flatMap((place) => panels[place] ?? [])));
    for (const place of members) each[place] = together;
  }
  return { each, shared: groups.length < 2 };
}
