import { expect, test } from "vitest";
import { common, delay, DELAYS, faster, later, loss, rate, RATES, understood, unitFor } from "../../src/live/changes";
import { status } from "./example";

test("amounts become parameters", () => {
  expect([rate(2.5e6), rate(0.2)]).toEqual(["rate=2500000bit", "rate=1bit"]);
  expect([delay(40_000), delay(-5)]).toEqual(["delay=40000us", "delay=0us"]);
  expect([loss(1), loss(0.30000000000000004), loss(0), loss(-1), loss(120)]).toEqual(["loss=1%", "loss=0.3%", "loss=none", "loss=none", "loss=100%"]);
});

test("steps begin at the state of each direction", () => {
  const now = status(10);
  expect(faster(now, "both", 1.25), "the uplink has no constant rate").toEqual([{ direction: "down", parameters: "rate=2500000bit" }]);
  expect(faster(now, "up", 1.25)).toEqual([]);
  expect(later(now, "both", -10_000)).toEqual([
    { direction: "up", parameters: "delay=20000us" },
    { direction: "down", parameters: "delay=20000us" },
  ]);
  expect(later(now, "down", -100_000)).toEqual([{ direction: "down", parameters: "delay=0us" }]);
});

test("an input shows what the chosen directions have in common", () => {
  const now = status(10);
  expect(common(now, "both", ({ delay_ns }) => delay_ns)).toBe(30e6);
  expect(common(now, "both", (way) => way.rate)).toBeNull();
  expect(common(now, "down", (way) => way.rate)).toBe(2e6);
  expect([0, 999, 2e6, 5e9].map((bits) => RATES[unitFor(RATES, bits)]?.[0])).toEqual(["bit/s", "bit/s", "Mbit/s", "Gbit/s"]);
  expect(DELAYS[unitFor(DELAYS, 40_000)]?.[0]).toBe("ms");
});

test("numbers are understood with a point or a comma", () => {
  expect(["2", " 0,5 ", "1e3", "", "-1", "fast"].map(understood)).toEqual([2, 0.5, 1000, null, null, null]);
});
