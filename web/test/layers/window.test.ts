import { describe, expect, test } from "vitest";
import { levelOf, moved, part, places, same, scaled, sensible, ticks, understood, words } from "../../src/layers/window";

const window = { from: 0, to: 100e9, low: 0, high: 1000 };

describe("a window", () => {
  test("moves by shares of itself", () => {
    expect(moved(window, { x: 0.5, y: -0.25 })).toEqual({ from: 50e9, to: 150e9, low: -250, high: 750 });
  });
  test("grows around a place that stays", () => {
    expect(scaled(window, { x: 0.5, y: 2 }, { x: 0.2, y: 1 })).toEqual({ from: 10e9, to: 60e9, low: -1000, high: 1000 });
  });
  test("has parts between any two corners", () => {
    const wanted = { from: 20e9, to: 40e9, low: 100, high: 900 };
    expect(part(window, { x: 0.4, y: 0.1 }, { x: 0.2, y: 0.9 })).toEqual(wanted);
  });
  test("is neither too small nor too large, and not beside everything", () => {
    const small = sensible({ from: 5, to: 6, low: 3, high: 3.1 }, window);
    expect(small.to - small.from).toBe(1000);
    expect(small.high - small.low).toBeCloseTo(1);
    const large = sensible({ from: -1e15, to: 1e15, low: 0, high: 1 }, window);
    expect(large.to - large.from).toBe(400e9);
    const beside = sensible(moved(window, { x: 7, y: 0 }), window);
    expect((beside.from + beside.to) / 2).toBe(100e9);
    expect(same(sensible(window, window), window)).toBe(true);
    expect(same({ ...window, low: 1 }, window)).toBe(false);
  });
});

test("a level's cells are no larger than a pixel, as in crates/report/src/layers/grid.rs", () => {
  expect(levelOf(-10, 1024, null)).toBe(10);
  expect(levelOf(-10, 2047, null)).toBe(10);
  expect(levelOf(-10, 1024, 1)).toBe(10);
  expect(levelOf(-10, 1024, 0.5)).toBe(9);
  expect(levelOf(-10, 512, 1)).toBe(9);
});

describe("the address", () => {
  test("keeps what is shown", () => {
    const shown = { from: -1.5e9, to: 60.25e9, low: -100, high: 20_000 };
    expect(words(shown)).toBe("t=-1.5-60.25&bytes=-100-20000");
    expect(understood(`#${words(shown)}`)).toEqual({ from: -1.5e9, to: 60.25e9, bytes: [-100, 20_000] });
  });
  test("has as many digits as the zoom needs", () => {
    expect(words({ from: 12_345_678_901, to: 12_345_679_901, low: 0, high: 1 })).toMatch(/^t=12\.345678901-12\.345679901&/);
  });
  test("may say times alone, and nothing that cannot be shown", () => {
    expect(understood("#t=10-60")).toEqual({ from: 10e9, to: 60e9, bytes: null });
    for (const bad of ["", "#figures", "#t=60-10", "#t=5", "#t=a-b", "#t=1-2-3"]) expect(understood(bad)).toBeNull();
  });
});

test("ticks are round and as many as there is room for", () => {
  expect(ticks(-1, 11, 6)).toEqual({ step: 2, values: [0, 2, 4, 6, 8, 10] });
  const fine = ticks(0.0001, 0.00042, 4);
  expect(fine.step).toBeCloseTo(0.0001);
  expect(fine.values.length).toBe(4);
  expect([places(0.0001), places(0.25), places(5), places(1000)]).toEqual([4, 1, 0, 0]);
});
