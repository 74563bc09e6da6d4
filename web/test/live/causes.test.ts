import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { byCause, causeOf, reasonWords } from "../../src/live/causes";

test("reasons are those of the vocabulary", () => {
  const rust = readFileSync(new URL("../../../crates/vocabulary/src/loss.rs", import.meta.url), "utf8");
  const entries = [...rust.matchAll(/^ {4}\w+ = "([a-z-]+)", (?:Some\(Cause::(\w+)\)|None), "(.*)";$/gm)];
  expect(entries.length).toBeGreaterThan(10);
  for (const [, name = "", cause = "mixed", words] of entries) expect([name, causeOf(name), reasonWords(name)]).toEqual([name, cause.toLowerCase(), words]);
});

test("unknown reasons are other ones", () => {
  expect(byCause({ codel: 2, red: 1, error: 4, "eaten-by-mice": 3 })).toEqual({ wireless: 4, congestion: 3, outage: 0, mixed: 3 });
  expect(reasonWords("eaten-by-mice")).toBe("eaten by mice");
});
