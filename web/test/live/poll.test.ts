import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Poll } from "../../src/live/poll";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A poll whose answers take `length` milliseconds. */
function polled(length: number, pause = () => 100) {
  const seen = { begun: [] as number[], now: 0, most: 0 };
  const start = Date.now();
  const ask = async () => {
    seen.begun.push(Date.now() - start);
    seen.most = Math.max(seen.most, ++seen.now);
    await new Promise((resolve) => setTimeout(resolve, length));
    seen.now--;
  };
  return { seen, poll: new Poll(ask, pause) };
}

test("a request begins a pause after the last answer", async () => {
  const { seen, poll } = polled(50);
  await vi.advanceTimersByTimeAsync(400);
  expect(seen.begun).toEqual([0, 150, 300]);
  poll.stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(seen.begun.length).toBe(3);
});

test("whoever needs a fresh answer gets one that was asked for afterwards", async () => {
  const { seen, poll } = polled(50, () => 1000);
  await vi.advanceTimersByTimeAsync(20);
  let fresh = 0;
  void poll.refresh().then(() => (fresh = seen.begun.length));
  await vi.advanceTimersByTimeAsync(40);
  expect(fresh, "the answer that was on its way does not count").toBe(0);
  await vi.advanceTimersByTimeAsync(50);
  expect([fresh, seen.begun, seen.most]).toEqual([2, [0, 50], 1]);
  void poll.refresh();
  expect(seen.begun.length, "a pause ends at once").toBe(3);
  poll.stop();
});
