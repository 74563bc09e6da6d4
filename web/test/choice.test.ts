import { expect, test } from "vitest";
import { counting, initial, levelName, panels, statistics, visible } from "../src/choice";
import type { CellStatistics, Measure } from "../src/data";
import { example } from "./example";

test("a page opens with the last factor in colours, the one before it on the axis, and panels for the rest", () => {
  const page = example();
  const choice = initial(page);
  expect([choice.x, choice.colour]).toEqual([1, 2]);
  expect(panels(page, choice, [choice.x, choice.colour])).toEqual([
    { title: "Link: gsm", cells: [0, 1, 2, 3] },
    { title: "Link: umts", cells: [4, 5, 6, 7] },
  ]);
});

test("a factor whose levels lie far apart goes into panels", () => {
  const page = example();
  // Cells are link (gsm, umts) by loss by the third factor; UMTS carries forty times as much.
  const cells = page.cells.map((cell) => of(cell.levels[0] === 0 ? 9_000 : 360_000));
  page.measures = [{ name: "goodput", title: "Goodput", unit: "bit/s", good: { cells, tests: [] }, all: null } as unknown as Measure];
  const choice = initial(page);
  expect([choice.x, choice.colour]).toEqual([1, 2]);
  page.factors = [page.factors[0]!, page.factors[1]!];
  page.cells = page.cells.filter((cell) => cell.levels[2] === 0).map((cell) => ({ ...cell, levels: cell.levels.slice(0, 2) }));
  page.measures[0]!.good.cells = page.cells.map((cell) => of(cell.levels[0] === 0 ? 9_000 : 360_000));
  expect([initial(page).x, initial(page).colour]).toEqual([1, null]);
  page.measures[0]!.good.cells = page.cells.map((cell) => of(cell.levels[0] === 0 ? 300_000 : 360_000));
  expect([initial(page).x, initial(page).colour]).toEqual([0, 1]);
});

/** Statistics of a cell of which only the median matters. */
function of(median: number): CellStatistics {
  return { median } as unknown as CellStatistics;
}

test("factors of one level are not in the way", () => {
  const page = example();
  page.factors[2] = { name: "lite", title: "TCP Lite", levels: ["off"] };
  expect([initial(page).x, initial(page).colour]).toEqual([0, 1]);
});

test("a campaign without factors is one panel", () => {
  const page = { ...example(), factors: [], cells: [{ number: 0, label: "all", levels: [] }] };
  const choice = initial(page);
  expect([choice.x, choice.colour]).toEqual([null, null]);
  expect(panels(page, choice, [null])).toEqual([{ title: "", cells: [0] }]);
  expect(levelName(page.factors, null, 0)).toBe("all runs");
});

test("hidden levels take their cells along", () => {
  const page = example();
  const choice = { ...initial(page), hidden: [new Set([0]), new Set<number>(), new Set([1])] };
  expect(visible(page.cells, choice)).toEqual([4, 6]);
});

test("overloaded runs count when asked for, failed ones never", () => {
  const page = example();
  const choice = initial(page);
  expect(counting(page, 1, choice)).toEqual([2]);
  expect(counting(page, 1, { ...choice, overloaded: true })).toEqual([2, 3]);
  expect(counting(page, 2, { ...choice, overloaded: true })).toEqual([5]);
});

test("statistics over all runs are those over good ones where none is overloaded", () => {
  const [good, all] = [{ cells: [], tests: [] }, { cells: [null], tests: [] }];
  const choice = { ...initial(example()), overloaded: true };
  expect(statistics({ good, all }, choice)).toBe(all);
  expect(statistics({ good, all: null }, choice)).toBe(good);
  expect(statistics({ good, all }, { ...choice, overloaded: false })).toBe(good);
});
