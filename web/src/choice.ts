// The reader's choice, and the cells that it leaves. Pure: controls change a choice, and figures
// are drawn from it.

import type { Cell, Factor, Page, Statistics } from "./data";
import { FAR } from "./figures/extent";

export interface Choice {
  /** Index of the measure. */
  measure: number;
  /** Index of the factor on the horizontal axis; `null` without factors. */
  x: number | null;
  /** Index of the factor shown by colour; `null` for none. */
  colour: number | null;
  /** Indices of the hidden levels, for each factor. */
  hidden: ReadonlySet<number>[];
  /** Whether overloaded runs count. */
  overloaded: boolean;
}

/** Cells of one panel, and the levels they share. */
export interface Panel {
  /**
   * `loss=lite-1`: the levels of the factors that neither axis nor colour show; empty if there are
   * none.
   */
  title: string;
  /** Indices of the cells. */
  cells: number[];
}

/**
 * The choice that a page opens with: the last factor in colours, the one before it on the axis, the
 * others in panels. A factor whose levels lie far apart goes into panels in any case, since each
 * panel may have an axis of its own.
 */
export function initial(page: Page): Choice {
  const varied = page.factors.map((factor, place) => ({ factor, place })).filter(({ factor }) => factor.levels.length > 1);
  const places = (varied.length > 0 ? varied : page.factors.map((factor, place) => ({ factor, place }))).map(({ place }) => place);
  const near = places.filter((place) => !farApart(page, place));
  const shown = near.length > 0 ? near : places;
  const last = shown.at(-1) ?? null;
  return {
    measure: 0,
    x: shown.at(-2) ?? last,
    colour: shown.length > 1 ? last : null,
    hidden: page.factors.map(() => new Set<number>()),
    overloaded: page.overloaded && hasOverloaded(page),
  };
}

/**
 * Whether the first measure is so different at the levels of a factor that one axis cannot show it.
 */
function farApart(page: Page, factor: number): boolean {
  const cells = page.measures[0]?.good.cells ?? [];
  const greatest = page.factors[factor]?.levels.map((_, level) => {
    const medians = page.cells.map((cell, place) => (cell.levels[factor] === level ? (cells[place]?.median ?? 0) : 0));
    return Math.max(0, ...medians);
  });
  const known = greatest?.filter((median) => median > 0) ?? [];
  return known.length > 1 && Math.max(...known) > FAR * Math.min(...known);
}

/** Whether there are overloaded runs, which the reader can include. */
export function hasOverloaded(page: Page): boolean {
  return page.runs.verdict.includes("overloaded");
}

/** The statistics that the choice asks for. */
export function statistics(of: { good: Statistics; all: Statistics | null }, choice: Choice): Statistics {
  return (choice.overloaded ? of.all : null) ?? of.good;
}

/** Indices of the cells without a hidden level. */
export function visible(cells: readonly Cell[], choice: Choice): number[] {
  const places = cells.map((_, place) => place);
  return places.filter((place) =>
    cells[place]?.levels.every((level, factor) => level === null || !choice.hidden[factor]?.has(level)),
  );
}

/** Level of a factor in a cell; without factors, all cells have the same level. */
export function level(cell: Cell | undefined, factor: number | null): number {
  return factor === null ? 0 : (cell?.levels[factor] ?? -1);
}

/** Name of a level, as axes and legends show it. */
export function levelName(factors: readonly Factor[], factor: number | null, place: number): string {
  return factor === null ? "all runs" : (factors[factor]?.levels[place] ?? "not set");
}

/**
 * The visible cells in panels: one for each combination of the factors that are not shown
 * otherwise.
 */
export function panels(page: Page, choice: Choice, shownBy: readonly (number | null)[]): Panel[] {
  const rest = page.factors.map((_, factor) => factor).filter((factor) => !shownBy.includes(factor));
  const named = rest.filter((factor) => (page.factors[factor]?.levels.length ?? 0) > 1);
  const all = new Map<string, Panel>();
  for (const place of visible(page.cells, choice)) {
    const cell = page.cells[place];
    const key = rest.map((factor) => level(cell, factor)).join();
    const title = named.map((factor) => `${page.factors[factor]?.title}: ${levelName(page.factors, factor, level(cell, factor))}`).join(", ");
    const panel = all.get(key) ?? { title, cells: [] };
    panel.cells.push(place);
    all.set(key, panel);
  }
  return [...all.values()];
}

/** Indices of the runs of a cell that count. */
export function counting(page: Page, cell: number, choice: Choice): number[] {
  const counts = (run: number) => {
    const verdict = page.runs.verdict[run];
    return verdict === "good" || (choice.overloaded && verdict === "overloaded");
  };
  return page.runs.cell.flatMap((of, run) => (of === cell && counts(run) ? [run] : []));
}
