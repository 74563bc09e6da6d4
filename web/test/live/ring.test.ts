import { expect, test } from "vitest";
import { Ring, type Values } from "../../src/live/ring";

test("the oldest row makes room for a new one", () => {
  const ring = new Ring(["time", "delay"], 3);
  for (const time of [1, 2, 3, 4, 5]) ring.add({ time, delay: time % 2 === 0 ? null : 10 * time });
  expect(ring.length).toBe(3);
  const values: Values = [7, 7, 7, 7, 7];
  ring.copy("time", 0, values);
  expect(values).toEqual([3, 4, 5]);
  ring.copy("delay", 1, values);
  expect(values, "null is what is unknown").toEqual([null, 50]);
  ring.copy("delay", 3, values);
  expect(values).toEqual([]);
  ring.clear();
  expect(ring.length).toBe(0);
});

test("the first row from a time on is found", () => {
  const ring = new Ring(["time"], 4);
  expect(ring.first("time", 1)).toBe(0);
  for (const time of [1, 2, 3, 4, 5, 6]) ring.add({ time });
  expect([0, 3, 3.5, 6, 7].map((time) => ring.first("time", time))).toEqual([0, 0, 1, 3, 4]);
});
