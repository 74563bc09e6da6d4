import { expect, test } from "vitest";
import type { PackedGraph } from "../../src/layers/data";
import { crowded, merged, word } from "../../src/layers/paint";
import { between, nearest, told } from "../../src/layers/readout";
import { looks, pixels } from "../../src/layers/symbols";

const points = (all: [number, number][]) => ({
  time: Float64Array.from(all.map(([time]) => time)),
  bytes: Float64Array.from(all.map(([, bytes]) => bytes)),
});

test("a colour as a word: red is the lowest byte, and it is opaque", () => {
  expect(word("#0180ff")).toBe(0xffff8001);
});

test("a line through tiles of several levels, with what the window begins with", () => {
  const tiles = [points([[0, 1], [50, 2], [100, 3]]), points([[10, 4], [60, 5]])];
  expect(merged(tiles, 20, 70)).toEqual([{ time: 10, bytes: 4 }, { time: 50, bytes: 2 }, { time: 60, bytes: 5 }]);
  expect(merged(tiles, 0, 10)).toEqual([{ time: 0, bytes: 1 }, { time: 10, bytes: 4 }]);
  expect(merged([], 0, 10)).toEqual([]);
});

test("graphs of one layer differ in their symbols, layers in their colours", () => {
  const graph = (layer: string, shape: string) => ({ layer, shape }) as PackedGraph;
  const all = looks([graph("tcp-sender", "dots"), graph("tcp-sender", "dots"), graph("tcp-sender", "crosses"), graph("link-sender", "dots")]);
  expect(all.map(({ variant }) => variant)).toEqual([0, 1, 0, 0]);
  expect(all[0]?.colour).toBe(all[1]?.colour);
  expect(all[0]?.colour).not.toBe(all[3]?.colour);
  const [filled, hollow] = all.map((look) => pixels(look, 1, false));
  expect(filled).toHaveLength(9);
  expect(hollow?.some(([x, y]) => x === 0 && y === 0)).toBe(false);
  expect(pixels(all[0]!, 2, false)).toHaveLength(36);
  expect(pixels(all[0]!, 1, true)).toHaveLength(21);
});

test("a lost segment is a ring around its dot, in no colour of a layer", () => {
  const graph = (layer: string) => ({ layer, shape: "dots" }) as PackedGraph;
  const [data, lost] = looks([graph("tcp-sender"), graph("lost")]);
  const dot = pixels(data!, 1, true).map(String);
  expect(pixels(lost!, 1, true).some((pixel) => dot.includes(String(pixel)))).toBe(false);
  expect(lost?.colour).not.toBe(data?.colour);
});

test("many marks would cover everything", () => {
  expect([crowded(60, 1000), crowded(70, 1000)]).toEqual([false, true]);
});

const tiles = [
  { points: points([[1e9, 460], [2e9, 920]]), label: "TcpSnd_Data", offset: 10_000, mark: false },
  { points: points([[1.5e9, 7]]), label: "RlpRcv_XON", offset: 0, mark: true },
];
/** A pixel is 0.1 s and 100 bytes; the pointer is at `time` and `bytes`. */
const far = (time: number, bytes: number) => (at: number, value: number | null) => Math.hypot((at - time) / 1e8, value === null ? 0 : (value - bytes) / 100);

test("the point under the pointer, by what its graph says and not by where it is drawn", () => {
  const spot = nearest(tiles, 0, 3e9, far(1e9, 10_400));
  expect(spot).toEqual({ time: 1e9, drawn: 10_460, bytes: 460, label: "TcpSnd_Data" });
  expect(told(spot!, null)).toBe("TcpSnd_Data\n1.000 s\n460 bytes");
  expect(told(spot!, 460)).toBe("TcpSnd_Data\n1.000 s\n1.00 segments (460 bytes)");
  expect(nearest(tiles, 0, 3e9, far(1.4e9, 50_000))?.label).toBe("RlpRcv_XON");
  expect(nearest(tiles, 0, 3e9, far(9e9, 0))).toBeNull();
});

test("between two places: time, bytes and a rate", () => {
  const data = { time: 1e9, drawn: 10_460, bytes: 460, label: "TcpSnd_Data" };
  const later = { time: 11e9, drawn: 10_060, bytes: 10_060, label: "TcpSnd_Ack" };
  expect(between(later, data, null)).toBe("10.000000 s, 9600 bytes: 960 bytes/s (7680 bit/s)");
  expect(between(data, { ...later, label: null }, null)).toBe("10.000000 s, −400 bytes: −40 bytes/s (−320 bit/s)");
  expect(between(data, { ...data, bytes: 920 }, null)).toBe("0.000000 s, 460 bytes: at one instant");
});
