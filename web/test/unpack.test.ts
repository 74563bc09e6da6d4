import { expect, test } from "vitest";
import type { PackedSequence } from "../src/data";
import { describe as words, layers, readable } from "../src/sequence/strokes";
import { unpack, visibleBytes, within } from "../src/sequence/unpack";
import { windows as windowChart } from "../src/sequence/windows";
import { nearest } from "../src/sequence/marks";
import { CAUSE } from "../src/palette";
import { highest } from "../src/sequence/lines";
import { bins, throughput } from "../src/sequence/throughput";

/**
 * Three segments, the second one lost and sent again after a timeout; as
 * crates/report/src/sequence/pack.rs packs them.
 */
const packed: PackedSequence = {
  run: 0,
  connection: "a to b",
  thinned: "",
  segments: { time: [1000, 12000, 12000, 975000], first: [1, 0, 0, -1048], length: [524, 524, 524, 524], kind: "..PT" },
  acks: { time: [81000, 24000, 995000], ack: [525, 0, 1048], window: [32000, 32000, 32000], duplicate: [1] },
  sacks: { time: [105000], first: [1049], length: [524] },
  losses: { time: [83000], first: [525], length: [524], reason: [0], reasons: ["wireless error"] },
  marks: { time: [0], sequence: [0], text: ["SYN"] },
  throughput: { bin_us: 500_000, end_us: 1_100_000, sent: [25_152, 6_986], delivered: [8_384, 13_973], average: [8_384, 11_432] },
  windows: {
    time: [500, 1500],
    cwnd: [10, 5],
    ssthresh: [null, 5],
    events: {
      time: [2000, 500_000], kind: ["recovery", "timeout"], cause: ["wireless", "congestion"], n: [2, null], lost: [3, 1], verdict: ["congestion", null],
      reason: ["detector", null], rtt_us: [53_000, null], mean_ns: [54_500_000, null], cwnd: [10, 5], ssthresh: [5, null],
    },
  },
};

test("differences become times in seconds and places in bytes", () => {
  const sequence = unpack(packed);
  expect([...sequence.segments.time]).toEqual([0.001, 0.013, 0.025, 1]);
  expect([...sequence.segments.first]).toEqual([1, 525, 1049, 525]);
  expect([...sequence.segments.last]).toEqual([525, 1049, 1573, 1049]);
  expect([...sequence.acks.ack]).toEqual([525, 525, 1573]);
  expect([...sequence.acks.edge]).toEqual([32525, 32525, 33573]);
  expect([...sequence.acks.duplicate]).toEqual([1]);
  expect(sequence.losses.reason).toEqual(["wireless error"]);
  expect(sequence.end).toBeCloseTo(1.1);
});

test("places between two times", () => {
  const times = Float64Array.of(1, 2, 2, 3);
  expect(within(times, 2, 2)).toEqual([1, 3]);
  expect(within(times, 0, 9)).toEqual([0, 4]);
  expect(within(times, 4, 5)).toEqual([4, 4]);
});

test("what is seen between two times is what happens then, and the lines that go on", () => {
  const sequence = unpack(packed);
  const [low, high] = visibleBytes(sequence, 0.5, 0.6);
  expect(low).toBeLessThan(525);
  expect(high).toBeGreaterThan(32525);
  expect(high).toBeLessThan(35000);
  const nothing = { ...sequence, acks: { ...sequence.acks, time: new Float64Array(0) } };
  expect(visibleBytes(nothing, 0.5, 0.6)).toEqual([0, 1]);
});

test("each layer has what belongs to it", () => {
  const all = layers(unpack(packed), 0, 2);
  const of = (name: string) => all.find((layer) => layer.name === name);
  expect(of("data")?.points.length).toBe(3);
  expect(of("retransmission")?.points).toEqual([{ time: 1, first: 525, last: 1049, text: "R" }]);
  expect(of("duplicate ACK")?.points.length).toBe(1);
  expect(of("SACK")?.points.length).toBe(1);
  expect(of("lost on the link")?.points.length).toBe(1);
  expect(of("marks")?.points[0]?.text).toBe("SYN");
  expect(of("acknowledged")?.points.map(({ last }) => last)).toEqual([525, 525, 1573]);
});

test("texts are left out where there are too many to be read", () => {
  const layer = layers(unpack(packed), 0, 2).find(({ name }) => name === "retransmission");
  if (layer === undefined) throw new Error("no layer");
  const many = Array.from({ length: 61 }, () => ({ time: 0, first: 0, last: 1, text: "R" }));
  expect(readable(layer).length).toBe(1);
  expect(readable({ ...layer, points: many })).toEqual([]);
});

test("what the pointer is at is told, losses before others", () => {
  const sequence = unpack(packed);
  const near = (time: number, first: number) => Math.hypot((time - 0.083) * 1000, (first - 525) / 100);
  expect(words(sequence, 0, 2, near)).toBe("lost: wireless error\nbytes 525 to 1049\nat 0.083000 s");
  expect(words(sequence, 0.9, 1.05, (time) => Math.abs(time - 1))).toContain("retransmission by timeout");
  expect(words(sequence, 0, 2, () => 99)).toBeNull();
});

test("congestion windows have the times of the plot", () => {
  const { windows } = unpack(packed);
  expect([...(windows?.time ?? [])]).toEqual([0.0005, 0.002]);
  expect(windows?.ssthresh).toEqual([null, 5]);
  expect(unpack({ ...packed, windows: null }).windows).toBeNull();
  expect(windowChart(unpack({ ...packed, windows: null }))).toBeNull();
});

test("the highest value between two times counts what a line comes from", () => {
  const chart = windowChart({ ...unpack(packed), windows: { time: Float64Array.from([0, 1, 2]), cwnd: [10, 20, 5], ssthresh: [null, 7, 7], events: null }, end: 3 });
  if (chart === null) throw new Error("no chart");
  expect(highest(chart, 1.5, 3)).toBe(20);
  expect(highest(chart, 2, 3)).toBe(7);
});

test("throughput is steps in bins, and a line through the averages at their ends", () => {
  const sequence = unpack(packed);
  const chart = throughput(sequence);
  expect(chart?.label).toBe("payload (kbit/s)");
  expect(chart?.lines.map(({ shape }) => shape)).toEqual(["step", "step", "line"]);
  expect(chart?.lines[0]?.time).toEqual([0, 0.5]);
  expect(chart?.lines[0]?.values).toEqual([25.152, 6.986]);
  expect(chart?.lines[2]?.time).toEqual([0.5, 1.1]);
  expect(sequence.throughput && bins(sequence.throughput)).toBe("bins of 500 ms");
  expect(throughput(unpack({ ...packed, throughput: null }))).toBeNull();
});

test("each loss event is a mark with the colour of its cause and the symbol of its verdict", () => {
  const [first, second] = windowChart(unpack(packed))?.marks ?? [];
  expect(first).toMatchObject({ time: 0.002, value: 10, colour: CAUSE.wireless, symbol: "square" });
  expect(first?.text.split("\n")).toEqual([
    "recovery: wireless error, taken for congestion",
    "n = 2, really lost: 3",
    "decided by the detector",
    "RTT 53.000 ms, mean 54.500 ms",
    "window 10, threshold after it 5",
    "at 0.002000 s",
  ]);
  expect(second).toMatchObject({ time: 0.502, value: 5, colour: CAUSE.congestion, symbol: "circle" });
  expect(second?.text.split("\n")).toEqual(["timeout: queue, no verdict", "really lost: 1", "window 5, threshold after it not set", "at 0.502000 s"]);
});

test("marks count for the height of a chart, and the one on top is told", () => {
  const mark = (time: number, value: number, text: string) => ({ time, value, colour: "#000", symbol: "circle" as const, text });
  const marks = [mark(1, 30, "below"), mark(1, 30, "on top"), mark(2, 90, "later")];
  const chart = { description: "", label: "", lines: [], marks, end: 3 };
  expect(highest(chart, 0, 1.5)).toBe(30);
  expect(highest(chart, 1.5, 3)).toBe(90);
  expect(nearest(marks, ({ time }) => Math.abs(time - 1), 12)?.text).toBe("on top");
  expect(nearest(marks, () => 13, 12)).toBeNull();
});
