import { expect, test } from "vitest";
import { without } from "../src/figures/scatter";
import { whose } from "../src/words";

test("a figure says which workload it is of", () => {
  expect(whose({ workload: "page", background: false })).toBe("Workload “page”.");
  expect(whose({ workload: "nginx", background: true })).toBe("Workload “nginx”, which is in the background.");
});

test("a missing line says why it is missing", () => {
  const drawn = (points: number) => ({ factor: null, cells: [0], points, line: null });
  expect(without(drawn(2), 3)).toBe("n too small for a line: 2 runs of at least 3.");
  expect(without(drawn(1), 3)).toBe("n too small for a line: 1 run of at least 3.");
  expect(without(drawn(9), 3)).toBe("no line: all 9 runs have the same share of retransmissions.");
});
