// All measurements of a single run.

import type { Measure, Page } from "../data";
import { number, shown } from "../units";
import { type Column, table } from "./table";

/** One row per metric of the page's only run. */
export function measureTable(page: Page): HTMLElement | null {
  if (page.measures.length === 0) return null;
  const value = ({ values }: Measure) => values[0] ?? null;
  const several = new Set(page.measures.map(({ workload }) => workload)).size > 1;
  const columns: Column<Measure>[] = [
    { title: "Metric", text: ({ title }) => title },
    {
      title: "Value",
      numeric: true,
      text: (measure) => {
        const { scale, unit } = shown(measure.unit, [value(measure)]);
        return `${number((value(measure) ?? 0) * scale)} ${unit}`;
      },
      value,
    },
    { title: "Unit of the file", text: ({ unit }) => unit },
  ];
  if (several) {
    columns.unshift({ title: "Workload", text: ({ workload, background }) => `${workload}${background ? " (background)" : ""}` });
  }
  return table("measured", columns, page.measures);
}
