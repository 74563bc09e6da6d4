import { expect, test } from "vitest";
import { decimals, duration, effect, fixed, instant, number, probability, quantity, range, shown } from "../src/units";

test("a unit is of the size of the greatest value", () => {
  expect(shown("bit/s", [9_600, 384_000])).toEqual({ scale: 1e-3, unit: "kbit/s" });
  expect(shown("bit/s", [11e6, null])).toEqual({ scale: 1e-6, unit: "Mbit/s" });
  expect(shown("bit/s", [0])).toEqual({ scale: 1, unit: "bit/s" });
  expect(shown("ms", [0.25])).toEqual({ scale: 1000, unit: "µs" });
  expect(shown("ms", [])).toEqual({ scale: 1, unit: "ms" });
  expect(shown("%", [1e6])).toEqual({ scale: 1, unit: "%" });
});

test("numbers have as many digits as say something", () => {
  expect(number(348.1374)).toBe("348.1");
  expect(number(0.0123456, 3)).toBe("0.0123");
  expect(number(3_298_176, 12)).toBe("3\u202f298\u202f176");
  expect(number(4500)).toBe("4500");
  expect(number(-1.5)).toBe("−1.5");
  expect(number(-1e-12)).toBe("0");
  expect(number(0)).toBe("0");
  expect(number(null)).toBe("–");
  expect(number(Number.NaN)).toBe("–");
  expect(range(1, 1)).toBe("1");
  expect(range(1, 2.5)).toBe("1 to 2.5");
});

test("the numbers of a column have the same decimals", () => {
  expect(decimals([348.12, 9.5, null])).toBe(1);
  expect(decimals([0.05])).toBe(5);
  expect(decimals([12345])).toBe(0);
  expect(decimals([0])).toBe(0);
  expect([fixed(348, 1), fixed(-0.04, 1), fixed(-12345.6, 1), fixed(null, 1)]).toEqual(["348.0", "0.0", "−12\u202f345.6", "–"]);
});

test("probabilities, durations and instants", () => {
  expect(probability(0.0004)).toBe("< 0.001");
  expect(probability(0.25)).toBe("0.250");
  expect(duration(12.34)).toBe("12.3 s");
  expect(duration(754)).toBe("12 min 34 s");
  expect(duration(7260)).toBe("2 h 1 min");
  expect(instant(0)).toBe("1970-01-01 00:00:00 UTC");
});

test("effects say which is higher, and how often", () => {
  expect(effect(0.97, "large", "reno", "cubic")).toBe("large: reno is higher in 97 % of pairs");
  expect(effect(0.1, "large", "reno", "cubic")).toBe("large: cubic is higher in 90 % of pairs");
  expect(effect(0.5, "negligible", "reno", "cubic")).toBe("negligible: neither is higher");
});

test("a quantity has its unit and three digits", () => {
  const rates = [0, 999, 1234, 12_345, 123_456, 5.5e6, 1e9].map((rate) => quantity(rate, "bit/s"));
  expect(rates).toEqual(["0 bit/s", "999 bit/s", "1.23 kbit/s", "12.3 kbit/s", "123 kbit/s", "5.50 Mbit/s", "1.00 Gbit/s"]);
  expect([40, 0.25, 1500, null].map((delay) => quantity(delay, "ms"))).toEqual(["40.0 ms", "250 µs", "1.50 s", "–"]);
  expect(quantity(0.0004, "packets/s")).toBe("0.000 packets/s");
});
