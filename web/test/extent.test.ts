import { expect, test } from "vitest";
import { axes, axis, extent } from "../src/figures/extent";

test("extents pass over what is no number", () => {
  expect(extent([3, null, 1, undefined])).toEqual([1, 3]);
  expect(extent([null])).toBeNull();
});

test("axes begin at 0 unless all values are far from it", () => {
  expect(axis([10, 100])[0]).toBe(0);
  expect(axis([90, 100])[0]).toBeGreaterThan(80);
  expect(axis([-5, 100])[0]).toBeLessThan(-5);
  expect(axis([0, 0])).toEqual([0, 1]);
  expect(axis([7, 7])[0]).toBe(0);
  expect(axis([-7, -7])[1]).toBe(0);
  expect(axis(null)).toEqual([0, 1]);
});

test("panels of like sizes share an axis, others do not", () => {
  const near = axes([
    [1, 10],
    [2, 30],
  ]);
  expect(near.shared).toBe(true);
  expect(near.each[0]).toEqual(near.each[1]);
  const far = axes([[9_000, 9_600], [300_000, 384_000], null]);
  expect(far.shared).toBe(false);
  expect(far.each[0]?.[1]).toBeLessThan(11_000);
  const groups = axes([
    [300, 384],
    [8, 9],
    [200, 380],
    [0, 0],
  ]);
  expect(groups.shared).toBe(false);
  expect(groups.each[0]).toEqual(groups.each[2]);
  expect(groups.each[1]).toEqual(groups.each[3]);
});
