import { expect, test } from "vitest";
import type { Factorial, FactorialAnalysis } from "../src/data";
import { about, rows } from "../src/tables/factorial";

const ANALYSIS: FactorialAnalysis = {
  workload: "web",
  unit: "bit/s",
  response: "goodput of web: system=a minus system=b",
  repetitions: 3,
  mean: { value: 41_000, interval: null },
  effects: [
    { factors: ["memory"], share: 0.789, effect: 21_500, interval: null, significant: null },
    { factors: ["memory", "cache"], share: 0.0427, effect: 5000, interval: null, significant: null },
  ],
  main_share: 0.943,
  interaction_share: 0.0427,
  error_share: 0.0157,
  notes: ["one repetition: no intervals"],
};

const OF: Factorial = {
  title: "t",
  factors: [
    ["memory", ["4MB", "16MB"]],
    ["cache", ["1kB", "2kB"]],
  ],
  fixed: "queue=5",
  log: false,
  good: { analysis: ANALYSIS, why: "" },
  all: null,
};

test("interactions are named by their factors, and the errors come last", () => {
  expect(rows(ANALYSIS).map(({ name, share }) => [name, share])).toEqual([
    ["memory", 0.789],
    ["memory × cache", 0.0427],
    ["between repetitions", 0.0157],
  ]);
  expect(rows({ ...ANALYSIS, error_share: null })).toHaveLength(2);
});

test("what was analysed is said with its levels, its unit and the sums", () => {
  expect(about(OF, ANALYSIS)).toEqual([
    "Response: goodput of web: system=a minus system=b, with queue=5. Factors: memory (4MB to 16MB), cache (1kB to 2kB). Repetitions of each cell: 3.",
    "Mean of the response: 41 kbit/s. The factors by themselves explain 94.3 %, their interactions 4.3 %, differences between repetitions 1.6 %.",
    "One repetition: no intervals.",
  ]);
});
