// Every cell in numbers.

import { type Choice, statistics, visible } from "../choice";
import type { CellStatistics, Interval, Page, Verdict } from "../data";
import { h } from "../dom";
import { decimals, fixed, shown } from "../units";
import { TOO_FEW, whose } from "../words";
import { type Column, table } from "./table";

interface Row {
  cell: number;
  of: CellStatistics | null;
}

/** A column for each factor with the level of the row's cell; a single one without factors. */
export function levelColumns(page: Page): Column<{ cell: number }>[] {
  if (page.factors.length === 0) return [{ title: "Cell", text: () => "all runs" }];
  return page.factors.map((factor, place) => ({
    title: factor.title,
    text: ({ cell }) => factor.levels[page.cells[cell]?.levels[place] ?? -1] ?? "–",
  }));
}

/** The chosen measure in every visible cell. */
export function cellTable(page: Page, choice: Choice): HTMLElement | null {
  const measure = page.measures[choice.measure];
  if (measure === undefined) return null;
  const cells = statistics(measure, choice).cells;
  const rows: Row[] = visible(page.cells, choice).map((cell) => ({ cell, of: cells[cell] ?? null }));
  const greatest = rows.flatMap(({ of }) => (of === null || of.max <= 0 ? [] : [of.max]));
  // Cells of like size have one unit, which the headings say; others have one each, in a column of
  // its own.
  const apart = Math.max(...greatest, 0) > 30 * Math.min(...greatest, Number.POSITIVE_INFINITY);
  const all = shown(measure.unit, greatest);
  const unitOf = ({ of }: Row) => (apart ? shown(measure.unit, [of?.max ?? null]) : all);
  const places = decimals(greatest.map((value) => value * all.scale));
  const placesOf = (row: Row) => (apart ? decimals([(row.of?.max ?? 0) * unitOf(row).scale]) : places);
  const titled = (title: string) => (apart ? title : `${title} (${all.unit})`);
  const scaled = (row: Row, value: number | null) => (value === null ? null : value * unitOf(row).scale);
  const figure = (title: string, pick: (of: CellStatistics) => number | null): Column<Row> => ({
    title: titled(title),
    numeric: true,
    text: (row) => fixed(row.of && scaled(row, pick(row.of)), placesOf(row)),
    value: (row) => row.of && scaled(row, pick(row.of)),
  });
  const interval = (title: "mean" | "median", pick: (of: CellStatistics) => Interval | null): Column<Row> => {
    const ends = (row: Row, text: (end: number) => string) => {
      const of = row.of && pick(row.of);
      return of && [of.low, of.high].map((end) => text(end * unitOf(row).scale));
    };
    return {
      title: titled(`95 % for the ${title}`),
      numeric: true,
      text: (row) => ends(row, (end) => fixed(end, placesOf(row)))?.join(" to ") ?? (row.of && row.of.count < page.least[title] ? TOO_FEW : "–"),
      value: (row) => ends(row, String)?.join(" "),
    };
  };
  const count = (title: string, verdict: Verdict): Column<Row> => {
    const runs = (cell: number) => page.runs.cell.filter((of, run) => of === cell && page.runs.verdict[run] === verdict).length;
    return { title, numeric: true, text: ({ cell }) => String(runs(cell)), value: ({ cell }) => runs(cell) };
  };
  const columns: Column<Row>[] = [
    ...levelColumns(page),
    { title: "n", numeric: true, text: ({ of }) => String(of?.count ?? 0), value: ({ of }) => of?.count ?? 0 },
    ...(apart ? [{ title: "Unit", text: (row: Row) => unitOf(row).unit }] : []),
    figure("Median", (of) => of.median),
    interval("median", (of) => of.median_interval),
    figure("Mean", (of) => of.mean),
    interval("mean", (of) => of.mean_interval),
    figure("Min", (of) => of.min),
    figure("Q1", (of) => of.q1),
    figure("Q3", (of) => of.q3),
    figure("Max", (of) => of.max),
    count("Overloaded", "overloaded"),
    ...(page.runs.verdict.includes("dropped-call") ? [count("Dropped calls", "dropped-call")] : []),
    count("Failed", "failed"),
  ];
  const { mean, median } = page.least;
  const few = rows.some(({ of }) => of !== null && of.count < Math.max(mean, median));
  const why =
    ` An interval for the mean needs ${mean} runs and one for the median ${median}: with fewer runs, its ends are the lowest and ` +
    "the highest value.";
  const over = h("p", {}, `${measure.title}. ${whose(measure)}${few ? why : ""}`);
  return h("div", {}, over, table(`cells-${measure.metric}`, columns, rows));
}
