import { expect, test } from "vitest";
import { kept } from "../../src/layers/store";

/** A store whose tiles come when they are let go. */
function held(size: number) {
  const asked: number[] = [];
  const gates = new Map<number, () => void>();
  const tiles = kept((number) => {
    asked.push(number);
    return new Promise((resolve) => gates.set(number, () => resolve({ time: Float64Array.of(number), bytes: Float64Array.of(0) })));
  }, size);
  return { tiles, asked, free: (number: number) => gates.get(number)?.() };
}

const soon = () => new Promise((resume) => setTimeout(resume, 0));

test("a few tiles are unpacked at a time, each once", async () => {
  const { tiles, asked, free } = held(100);
  const done = tiles.bring([1, 2, 3, 4, 5, 6]);
  expect(asked).toEqual([1, 2, 3, 4]);
  free(2);
  await soon();
  expect(asked).toEqual([1, 2, 3, 4, 5]);
  for (const number of [1, 3, 4, 5]) free(number);
  await soon();
  free(6);
  await done;
  expect([1, 2, 3, 4, 5, 6].map((number) => tiles.get(number)?.time[0])).toEqual([1, 2, 3, 4, 5, 6]);
  await tiles.bring([1, 6]);
  expect(asked.length).toBe(6);
});

test("who asks last is served first, and what nobody waits for is left", async () => {
  const { tiles, asked, free } = held(100);
  const first = tiles.bring([1, 2, 3, 4, 5, 6]);
  const second = tiles.bring([3, 7]);
  expect(await first).toBe(false);
  expect(asked).toEqual([1, 2, 3, 4, 7]);
  free(7);
  free(3);
  expect(await second).toBe(true);
  expect(tiles.get(7)).toBeDefined();
  for (const number of [1, 2, 4]) free(number);
  await soon();
  expect(asked).not.toContain(5);
  expect(tiles.get(1), "what was begun is kept").toBeDefined();
});

test("what was not needed for long is forgotten", async () => {
  const { tiles, free } = held(2);
  for (const number of [1, 2]) {
    const done = tiles.bring([number]);
    free(number);
    await done;
  }
  tiles.get(1);
  const done = tiles.bring([3]);
  free(3);
  await done;
  expect([1, 2, 3].map((number) => tiles.get(number) !== undefined)).toEqual([true, false, true]);
});
