import { expect, test } from "vitest";
import { firstFrom, inflated, unpacked } from "../../src/layers/tile";

test("the text that crates/report/src/layers/tile.rs packs", async () => {
  const { time, bytes } = unpacked(await inflated("Y2Q68NWRiWEG+wz26ewA"), 4, 1000, 1);
  expect([...time]).toEqual([-1000, 0, 540_000_000, 540_001_000]);
  expect([...bytes]).toEqual([0, 460, 920, 460]);
});

test("numbers beyond 32 bits, and units that are parts of a byte", () => {
  // 2^40 and back to -1: as signs in the lowest bit 2^41 and 2 * (2^40 + 1) - 1.
  const bytes = Uint8Array.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0x81, 0x80, 0x80, 0x80, 0x80, 0x40, 0x80, 0x02, 0x00]);
  const points = unpacked(bytes, 2, 1, 1 / 256);
  expect([...points.time]).toEqual([2 ** 40, -1]);
  expect([...points.bytes]).toEqual([0.5, 0.5]);
});

test("the first from a time on", () => {
  const times = Float64Array.from([1, 3, 3, 7]);
  expect([0, 1, 2, 3, 4, 7, 8].map((time) => firstFrom(times, time))).toEqual([0, 0, 1, 1, 3, 3, 4]);
});
