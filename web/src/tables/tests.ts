// Tests which differences are significant, and how large they are.

import { type Choice, statistics, visible } from "../choice";
import type { Page, Test } from "../data";
import { effect, probability } from "../units";
import { TOO_FEW } from "../words";
import { type Column, table } from "./table";

/** The tests of the chosen measure between visible cells that differ in `factor` alone. */
export function testTable(page: Page, choice: Choice, factor: number): HTMLElement | null {
  const measure = page.measures[choice.measure];
  const of = page.factors[factor];
  if (measure === undefined || of === undefined) return null;
  const seen = new Set(visible(page.cells, choice));
  const tests = statistics(measure, choice).tests.filter(
    (test) => test.factor === factor && seen.has(test.first) && seen.has(test.second),
  );
  if (tests.length === 0) return null;
  const name = (cell: number) => of.levels[page.cells[cell]?.levels[factor] ?? -1] ?? "–";
  const others = page.factors.map((other, place) => ({ other, place })).filter(({ place }) => place !== factor);
  const columns: Column<Test>[] = [
    ...others.map(
      ({ other, place }): Column<Test> => ({
        title: other.title,
        text: ({ first }) => other.levels[page.cells[first]?.levels[place] ?? -1] ?? "–",
      }),
    ),
    { title: of.title, text: ({ first, second }) => `${name(first)} – ${name(second)}` },
    { title: "p", numeric: true, text: ({ p }) => probability(p), value: ({ p }) => p },
    { title: "p, corrected (Holm)", numeric: true, text: ({ corrected }) => probability(corrected), value: ({ corrected }) => corrected },
    { title: "A12", numeric: true, text: ({ a12 }) => a12.toFixed(2), value: ({ a12 }) => a12 },
    {
      title: "Effect",
      text: ({ a12, magnitude, first, second, corrected, too_few }) =>
        too_few ? `${TOO_FEW} to tell` : (corrected < 0.05 ? "" : "not significant; ") + effect(a12, magnitude, name(first), name(second)),
    },
  ];
  return table(`tests-${measure.metric}-${of.name}`, columns, tests);
}
