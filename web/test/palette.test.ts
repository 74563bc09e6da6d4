import { expect, test } from "vitest";
import { colour, symbol } from "../src/palette";

test("levels differ in colour or symbol, seven times seven of them", () => {
  const looks = Array.from({ length: 49 }, (_, place) => `${colour(place)} ${symbol(place)}`);
  expect(new Set(looks).size).toBe(49);
});

test("a cell without a level of the factor has a look as well", () => {
  expect(colour(-1)).toMatch(/^#/);
  expect(symbol(-1)).toBe("circle");
});
