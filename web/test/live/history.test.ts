import { expect, test } from "vitest";
import { bins } from "../../src/live/bins";
import { History } from "../../src/live/history";
import { between, inside } from "../../src/live/interval";
import { status } from "./example";

test("rates, delays and losses are those between two states", () => {
  const [before, now] = [status(10), status(30)];
  const interval = between(before.down, now.down, 2);
  expect(interval).toEqual({ seconds: 2, rate: 1e6, packets: 102, delay: 40, queueing: 10, lost: 4, lostBy: { "queue-full": 4 } });
  expect(between(before.up, now.up, 2)).toEqual({ seconds: 2, rate: 0, packets: 0, delay: null, queueing: null, lost: 0, lostBy: {} });
  expect(between(now.down, before.down, 0).rate, "no time and fewer packets are no rate").toBe(0);
  expect(inside(now.down)).toBe(1);
});

test("numbers are those of the last second", () => {
  const history = new History();
  expect(history.recent("down")).toBeNull();
  for (let tenth = 0; tenth <= 30; tenth++) history.add(status(tenth));
  expect(history.recent("down")).toMatchObject({ seconds: 1, rate: 1e6, delay: 40, queueing: 10, lost: 2 });
});

test("an hour takes no more room than a minute", () => {
  const history = new History();
  for (let tenth = 0; tenth <= 36_000; tenth++) history.add(status(tenth));
  const [fine, coarse] = [history.rows("down", 60), history.rows("down", 600)];
  expect([fine.length, coarse.length]).toEqual([620, 620]);
  expect((fine.value("time", 619) ?? 0) - (fine.value("time", 0) ?? 0)).toBeCloseTo(61.9);
  expect((coarse.value("time", 619) ?? 0) - (coarse.value("time", 0) ?? 0)).toBeCloseTo(619);
  expect(coarse.value("rate", 300)).toBeCloseTo(1e6);
  expect(history.rows("down", 10)).toBe(fine);
});

test("states that come rarely keep their second", () => {
  const history = new History();
  for (const tenth of [0, 30, 60]) history.add(status(tenth));
  expect(history.recent("down")).toMatchObject({ seconds: 3, rate: 1e6 });
});

test("another run begins a new history", () => {
  const history = new History();
  for (const tenth of [10, 11, 12]) history.add(status(tenth));
  expect(history.rows("down", 60).length).toBe(2);
  history.add(status(1));
  expect(history.rows("down", 60).length).toBe(0);
  history.add(status(2));
  history.add(status(3, "2"));
  expect([history.rows("down", 60).length, history.newest?.link.id]).toEqual([0, "2"]);
});

test("losses are counted in bins that stay where they are", () => {
  const history = new History();
  for (let tenth = 0; tenth <= 40; tenth++) history.add(status(tenth));
  const found = bins(history.rows("down", 60), 1, 0);
  // A loss every half second, at 0.5 s, 1.0 s, …
  expect(found.map(({ start, total }) => [start, total])).toEqual([
    [0, 1],
    [1, 2],
    [2, 2],
    [3, 2],
    [4, 1],
  ]);
  expect(found[1]?.lost).toEqual({ wireless: 0, congestion: 2, outage: 0, mixed: 0 });
  expect(bins(history.rows("down", 60), 1, 3.2).map(({ start, total }) => [start, total])).toEqual([
    [3, 1],
    [4, 1],
  ]);
});
