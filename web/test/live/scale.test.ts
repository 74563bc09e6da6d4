import { expect, test } from "vitest";
import { ago, ceiling, ticks } from "../../src/live/scale";

test("an axis ends at a round number above the values", () => {
  expect([0, 3.9, 4, 99, 1.2e6].map((greatest) => ceiling(greatest, 0, 4))).toEqual([5, 5, 5, 150, 1.5e6]);
  expect(ceiling(1e6, 2e6, 100), "a limit near the values is shown").toBe(3e6);
  expect(ceiling(1e6, 100e6, 100), "a limit far above them is not").toBe(1.5e6);
});

test("ticks say how long ago", () => {
  const text = (range: number) => ticks(1000, range).map((tick) => ago(1000 - tick, range));
  expect(text(10)).toEqual(["−10 s", "−8 s", "−6 s", "−4 s", "−2 s", "now"]);
  expect(text(60)).toEqual(["−60 s", "−50 s", "−40 s", "−30 s", "−20 s", "−10 s", "now"]);
  expect(text(600)).toEqual(["−10 min", "−8 min", "−6 min", "−4 min", "−2 min", "now"]);
});
