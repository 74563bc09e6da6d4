// A small campaign for tests: two links, two loss profiles, TCP Lite on and off, two repetitions;
// one run is overloaded.

import type { Page, Verdict } from "../src/data";

export function example(): Page {
  const factors = [
    { name: "link", title: "Link", levels: ["gsm", "umts"] },
    { name: "loss", title: "Loss profile", levels: ["0", "4"] },
    { name: "lite", title: "TCP Lite", levels: ["off", "on"] },
  ];
  const cells = Array.from({ length: 8 }, (_, number) => ({
    number,
    label: `cell ${number}`,
    levels: [number >> 2, (number >> 1) & 1, number & 1],
  }));
  const cell = cells.flatMap(({ number }) => [number, number]);
  const verdict: Verdict[] = cell.map((_, run) => (run === 3 ? "overloaded" : run === 4 ? "failed" : "good"));
  return {
    schema: 1,
    least: { mean: 4, median: 6, line: 3 },
    about: {
      name: "example", title: "Example", description: "", plan_file: "", plan_text: "", lasthop: "", kernel: "", clock: "real", clock_words: "real: the host's",
      machine: "", seed: "1", started_ms: 0, ended_ms: null, planned: 16, shard: "", repetitions: 2, links: [],
    },
    factors,
    cells,
    runs: { cell, repetition: cell.map((_, run) => run % 2), verdict, seconds: cell.map(() => 1) },
    troubles: [],
    measures: [],
    scatters: [],
    factorial: [],
    precision: null,
    literature: [],
    losses: null,
    sequences: { plots: [], notes: [] },
    links: { reasons: [], run: [], way: [], packets: [], bytes: [], delivered_bytes: [], lost: [], damaged: [], duplicated: [], reordered: [], delay_ms: [], waiting_ms: [] },
    overloaded: false,
  };
}
