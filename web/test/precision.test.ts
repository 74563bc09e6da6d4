import { expect, test } from "vitest";
import type { Precision } from "../src/data";
import { summary } from "../src/tables/precision";

const STOP = { cell: 0, repetitions: 30, mean: 1.1, low: 1.09, high: 1.11, half_width: 0.009, reached: true, notes: [] };
const RULE: Precision = { rule: "the 95 % interval of the mean of goodput is within 2 % of it", unit: "bit/s", least: 30, most: 63, stops: [] };
const FIRST = "Each cell was repeated 30 to 63 times, until the 95 % interval of the mean of goodput is within 2 % of it.";

test("the rule is told with what came of it", () => {
  expect(summary(RULE)).toEqual([`${FIRST} The campaign was interrupted: no cell has stopped yet.`]);
  expect(summary({ ...RULE, stops: [STOP] })).toEqual([`${FIRST} All cells reached it.`]);
  const missed = { ...STOP, reached: false, repetitions: 63 };
  expect(summary({ ...RULE, stops: [STOP, missed] })).toEqual([`${FIRST} 1 of 2 cells did not reach it with 63 repetitions.`]);
});
