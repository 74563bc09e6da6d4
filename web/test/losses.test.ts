import { expect, test } from "vitest";
import { initial } from "../src/choice";
import type { LossGroup, Losses, Page } from "../src/data";
import { differenceName, groupsOf, lossPanels, shareWords } from "../src/figures/losses";
import { CAUSE, TAKEN_FOR } from "../src/palette";
import { sums } from "../src/sections/losses";
import { example } from "./example";

const group = (at: number | null, control: string): LossGroup => ({ at, congestion_control: control, connections: 1, causes: [], counts: null });

/**
 * Loss events in all cells of the example; the factor `lite` is what tells the congestion controls
 * apart.
 */
function withLosses(): { page: Page; losses: Losses } {
  const page = example();
  const good = {
    cells: page.cells.map(({ number }) => group(number, number % 2 === 0 ? "reno" : "newzag")),
    levels: [
      [group(0, "reno"), group(0, "newzag"), group(1, "reno"), group(1, "newzag")],
      [group(0, "reno"), group(0, "newzag"), group(1, "reno"), group(1, "newzag")],
      [group(0, "reno"), group(1, "newzag")],
    ],
    together: [group(null, "reno"), group(null, "newzag")],
  };
  return { page, losses: { differences: [-2, -1, 0, 1, 2], good, all: { ...good, together: [] } } };
}

test("each cell has a row, in the panels of the factors that do not name it", () => {
  const { page, losses } = withLosses();
  const choice = initial(page);
  const panels = lossPanels(page, losses, choice, "cells");
  expect(panels.map(({ title }) => title)).toEqual(["Link: gsm", "Link: umts"]);
  expect(panels[0]?.rows.map(({ label }) => label)).toEqual(["0, off", "0, on", "4, off", "4, on"]);
  const hidden = { ...choice, hidden: [new Set([1]), new Set<number>(), new Set<number>()] };
  expect(lossPanels(page, losses, hidden, "cells").map(({ title }) => title)).toEqual(["Link: gsm"]);
});

test("sums over a factor that is not the congestion control have a panel for each of those", () => {
  const { page, losses } = withLosses();
  const choice = initial(page);
  expect(lossPanels(page, losses, choice, 1).map(({ title, rows }) => [title, rows.map(({ label }) => label)])).toEqual([
    ["reno", ["0", "4"]],
    ["newzag", ["0", "4"]],
  ]);
  expect(lossPanels(page, losses, choice, 2).map(({ title, rows }) => [title, rows.map(({ label }) => label)])).toEqual([["", ["off", "on"]]]);
  expect(lossPanels(page, losses, choice, "together")[0]?.rows.map(({ label }) => label)).toEqual(["reno", "newzag"]);
  const hidden = { ...choice, hidden: [new Set<number>(), new Set([0]), new Set<number>()] };
  expect(groupsOf(page, losses, hidden, 1).map(({ at }) => at)).toEqual([1, 1]);
  expect(groupsOf(page, losses, { ...choice, overloaded: true }, "together")).toEqual([]);
});

test("a campaign of one cell has nothing to sum over", () => {
  const { page } = withLosses();
  expect(sums(page).map(([sum]) => sum)).toEqual(["cells", 0, 1, 2, "together"]);
  expect(sums({ ...page, cells: page.cells.slice(0, 1), factors: [] }).map(([sum]) => sum)).toEqual(["cells"]);
});

test("shares and differences in words", () => {
  expect(shareWords({ of: 12, all: 15, value: 0.8, interval: { low: 0.548, high: 0.9295 } })).toBe("12 of 15, 80.0 % (95 %: 54.8 to 93.0 %)");
  expect(shareWords({ of: 0, all: 0, value: null, interval: null })).toBe("0 of 0");
  expect([0, 1, 2, 4].map((place) => differenceName([-2, -1, 0, 1, 2], place))).toEqual(["≤ −2", "−1", "0", "≥ +2"]);
});

test("causes differ in colour, verdicts in symbol", () => {
  expect(new Set(Object.values(CAUSE)).size).toBe(5);
  expect(new Set(Object.values(TAKEN_FOR)).size).toBe(3);
});
