import { expect, test } from "vitest";
import { code } from "../../src/live/qr";

/** The dark modules that a path covers. */
function dark(path: string): Set<string> {
  const found = new Set<string>();
  for (const [, x, y, length] of path.matchAll(/M(\d+),(\d+)h(\d+)v1h-\d+z/g)) {
    for (let place = 0; place < Number(length); place++) found.add(`${Number(x) + place} ${y}`);
  }
  return found;
}

test("a code has its three corners and a quiet zone", () => {
  const { size, path } = code("http://192.168.1.5:8181/#token=0123456789abcdef0123456789abcdef");
  const modules = dark(path);
  const finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"];
  const corner = (left: number, top: number) => finder.map((row, y) => row.replaceAll(/./g, (_, x: number) => (modules.has(`${left + x} ${top + y}`) ? "1" : "0")));
  for (const [left, top] of [[4, 4], [size - 11, 4], [4, size - 11]] as const) expect(corner(left, top)).toEqual(finder);
  const all = [...modules].flatMap((module) => module.split(" ").map(Number));
  expect([Math.min(...all), Math.max(...all)]).toEqual([4, size - 5]);
  expect((size - 8 - 17) % 4, "a size of a version").toBe(0);
});
