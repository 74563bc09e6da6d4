import { describe, expect, test } from "vitest";
import { crosses, steps, strokes, ticks } from "../src/sequence/path";

describe("strokes", () => {
  test("of one column that touch are one, others stay apart", () => {
    const drawn = strokes([
      { x: 10.01, low: 50, high: 40 },
      { x: 10.1, low: 40, high: 30 },
      { x: 9.9, low: 20, high: 10 },
      { x: 11, low: 50, high: 40 },
    ]);
    expect(drawn).toBe("M10,10V20M10,30V50M11,40V50");
  });
  test("are seen however short they are", () => {
    expect(strokes([{ x: 1, low: 7.01, high: 7 }])).toBe("M1,7V10");
  });
});

describe("steps", () => {
  test("stay at a height until the next point", () => {
    expect(steps([{ x: 0, y: 5 }, { x: 2, y: 3 }, { x: 4, y: 8 }], 9)).toBe("M0,5H2V3H4V8H9");
  });
  test("show the lowest and the highest of a column and leave it at the last", () => {
    const within = [5, 1, 9, 4].map((y, place) => ({ x: 2 + place / 100, y }));
    expect(steps([{ x: 0, y: 5 }, ...within], 3)).toBe("M0,5H2V1V9V4H3");
  });
  test("need nothing for points that change nothing", () => {
    expect(steps([{ x: 0, y: 5 }, { x: 1, y: 5 }, { x: 2, y: 5 }, { x: 3, y: 6 }], 4)).toBe("M0,5H3V6H4");
  });
  test("of no points are nothing", () => {
    expect(steps([], 4)).toBe("");
  });
  test("of any number of points stay below a bound", () => {
    const many = Array.from({ length: 100_000 }, (_, place) => ({ x: place / 150, y: 300 * Math.abs(Math.sin(place)) }));
    expect(steps(many, 700).length).toBeLessThan(80_000);
  });
});

test("marks at the same place are drawn once", () => {
  const twice = [{ x: 10, y: 20 }, { x: 10.05, y: 20 }, { x: 30, y: 20 }];
  expect(ticks(twice)).toBe("M7,20h6M27,20h6");
  expect(crosses(twice.slice(1))).toBe("M6,16l8,8m-8,0l8,-8M26,16l8,8m-8,0l8,-8");
});
