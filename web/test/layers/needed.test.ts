import { describe, expect, test } from "vitest";
import type { PackedGraph } from "../../src/layers/data";
import { extent, MOST, needed } from "../../src/layers/needed";

/**
 * A line through 100 s and 100 000 bytes: an overview, a level of two tiles for cells of 2^26 ns
 * and one of four for 2^24.
 */
const graph: PackedGraph = {
  label: "TcpSnd_Data",
  layer: "tcp-sender",
  shape: "dots",
  offset: 10_000,
  points: 20_000,
  step_ns: 1,
  unit: 1,
  levels: [
    { level: null, first: 0, tiles: [[4000, 0, 100e9, 0, 100_000]] },
    { level: 26, first: 1, tiles: [[4096, 0, 50e9, 0, 50_000], [4096, 51e9, 100e9, 51_000, 100_000]] },
    { level: 24, first: 7, tiles: [25, 50, 75, 100].map((end) => [4096, (end - 24) * 1e9, end * 1e9, (end - 24) * 1000, end * 1000]) },
  ],
};

const numbers = (window: Parameters<typeof needed>[2], pixel: { ns: number; bytes: number }, of = graph) => {
  const found = needed(of, -20, window, pixel);
  return [found.tiles.map(({ number }) => number), found.detail];
};
const whole = { from: 0, to: 100e9, low: 0, high: 100_000 };

describe("a window needs", () => {
  test("the overview alone where pixels are large", () => {
    expect(numbers(whole, { ns: 2 ** 27, bytes: 2 ** 7 })).toEqual([[0], "pixel"]);
  });
  test("the levels down to that of its pixels, by the finer axis", () => {
    expect(numbers(whole, { ns: 2 ** 26, bytes: 2 ** 7 })).toEqual([[0, 1, 2], "pixel"]);
    expect(numbers(whole, { ns: 2 ** 27, bytes: 2 ** 6 })).toEqual([[0, 1, 2], "pixel"]);
    expect(numbers(whole, { ns: 2 ** 24, bytes: 2 ** 7 })).toEqual([[0, 1, 2, 7, 8, 9, 10], "all"]);
  });
  test("tiles that it touches in time and in bytes", () => {
    const window = { from: 55e9, to: 60e9, low: 55_000, high: 60_000 };
    expect(numbers(window, { ns: 1000, bytes: 1 })).toEqual([[0, 2, 9], "all"]);
    expect(numbers({ ...whole, low: 10_000, high: 20_000 }, { ns: 1000, bytes: 1 })).toEqual([[0, 1, 7], "all"]);
    expect(numbers({ ...window, from: 200e9, to: 300e9 }, { ns: 1000, bytes: 1 })).toEqual([[], "all"]);
  });
  test("of steps also what the window begins with, at any height", () => {
    const steps: PackedGraph = { ...graph, shape: "steps" };
    expect(numbers({ from: 50.5e9, to: 50.6e9, low: 0, high: 1 }, { ns: 1000, bytes: 1 }, steps)).toEqual([[0, 1, 8], "all"]);
    expect(numbers({ from: 200e9, to: 300e9, low: 0, high: 1 }, { ns: 1000, bytes: 1 }, steps)).toEqual([[0, 2, 10], "all"]);
  });
  test("of marks what is between its times", () => {
    expect(numbers({ from: 55e9, to: 60e9, low: -5, high: -4 }, { ns: 1000, bytes: 1 }, { ...graph, shape: "marks" })).toEqual([[0, 2, 9], "all"]);
  });
  test("no more than can be drawn in a frame", () => {
    const tiles = Array.from({ length: 200 }, (_, place): [number, number, number, number, number] => [4096, place * 1e9, place * 1e9 + 5e8, 0, 1e5]);
    const large: PackedGraph = { ...graph, levels: [graph.levels[0]!, { level: 20, first: 1, tiles: tiles.slice(0, 50) }, { level: 10, first: 51, tiles }] };
    const found = needed(large, -20, { from: 0, to: 200e9, low: 0, high: 1e5 }, { ns: 1, bytes: 1e5 });
    expect(found.detail).toBe("coarse");
    expect(found.tiles.length).toBe(51);
    expect(found.tiles.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(MOST);
  });
});

test("everything is as large as the graphs, with their offsets", () => {
  const marks: PackedGraph = { ...graph, shape: "marks", levels: [{ level: null, first: 0, tiles: [[2, -5e9, 200e9, -1e6, 1e6]] }] };
  expect(extent([graph], false)).toEqual(whole);
  expect(extent([graph], true)).toEqual({ ...whole, low: 10_000, high: 110_000 });
  expect(extent([graph, marks], false)).toEqual({ ...whole, from: -5e9, to: 200e9 });
  expect(extent([], false)).toBeNull();
});
