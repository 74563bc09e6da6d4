// Every cell in numbers.

import { type Choice, statistics, visible } from "../choice";
import type { CellStatistics, Interval, Page, Verdict } from "../data";
import { decimals, fixed, shown } from "../units";
import { type Column, table } from "./table";

interface Row {
  cell: number;
  of: CellStatistics | null;
}

/** The chosen measure in every visible cell. */
export function cellTable(page: Page, choice: Choice): HTMLElement | null {
  const measure = page.measures[choice.measure];
  if (measure === undefined) return null;
  const cells = statistics(measure, choice).cells;
  const rows: Row[] = visible(page.cells, choice).map((cell) => ({ cell, of: cells[cell] ?? null }));
  const { scale, unit } = shown(measure.unit, rows.map(({ of }) => of?.max ?? null));
  const places = decimals(rows.map(({ of }) => of && of.max * scale));
  const scaled = (value: number | null | undefined) => (value === null || value === undefined ? null : value * scale);
  const figure = (title: string, pick: (of: CellStatistics) => number | null): Column<Row> => ({
    title: `${title} (${unit})`,
    numeric: true,
    text: ({ of }) => fixed(of && scaled(pick(of)), places),
    value: ({ of }) => of && scaled(pick(of)),
  });
  const interval = (title: string, pick: (of: CellStatistics) => Interval | null): Column<Row> => ({
    title: `95 % for the ${title} (${unit})`,
    numeric: true,
    text: ({ of }) => {
      const ends = of && pick(of);
      return ends === null ? "–" : `${fixed(ends.low * scale, places)} to ${fixed(ends.high * scale, places)}`;
    },
    value: ({ of }) => {
      const ends = of && pick(of);
      return ends && `${ends.low * scale} ${ends.high * scale}`;
    },
  });
  const count = (title: string, verdict: Verdict): Column<Row> => {
    const runs = (cell: number) => page.runs.cell.filter((of, run) => of === cell && page.runs.verdict[run] === verdict).length;
    return { title, numeric: true, text: ({ cell }) => String(runs(cell)), value: ({ cell }) => runs(cell) };
  };
  const levels = page.factors.map((factor, place): Column<Row> => ({
    title: factor.title,
    text: ({ cell }) => factor.levels[page.cells[cell]?.levels[place] ?? -1] ?? "–",
  }));
  const columns: Column<Row>[] = [
    ...(levels.length > 0 ? levels : [{ title: "Cell", text: () => "all runs" } satisfies Column<Row>]),
    { title: "n", numeric: true, text: ({ of }) => String(of?.count ?? 0), value: ({ of }) => of?.count ?? 0 },
    figure("Median", (of) => of.median),
    interval("median", (of) => of.median_interval),
    figure("Mean", (of) => of.mean),
    interval("mean", (of) => of.mean_interval),
    figure("Min", (of) => of.min),
    figure("Q1", (of) => of.q1),
    figure("Q3", (of) => of.q3),
    figure("Max", (of) => of.max),
    count("Overloaded", "overloaded"),
    count("Failed", "failed"),
  ];
  return table(`cells-${measure.metric}`, columns, rows);
}
