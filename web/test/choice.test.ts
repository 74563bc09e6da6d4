import { expect, test } from "vitest";
import { counting, initial, levelName, panels, statistics, visible } from "../src/choice";
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
