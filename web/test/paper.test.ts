import { expect, test } from "vitest";
import { distinct } from "../src/figures/all";
import { broken, slug } from "../src/figures/paper";
import { rounded } from "../src/figures/rounded";

test("coordinates have two decimals at most", () => {
  expect(rounded("M12.3456,0.001L-7.999,1e3")).toBe("M12.35,0L-8,1e3");
  expect(rounded("translate(62.5,3.0000000001)")).toBe("translate(62.5,3)");
  expect(rounded("M1.5e-7,.125")).toBe("M0,0.13");
  expect(rounded("12")).toBe("12");
});

test("names of files are plain", () => {
  expect(slug("loss=lite-4, cc=reno, ÆØ 0.5 % 3")).toBe("loss-lite-4-cc-reno-0.5-3");
  expect(slug("../..")).toBe("");
});

test("no two files have one name", () => {
  const named = ["a.svg", "a.svg", "a-2.svg", "b.svg"].map((name) => ({ name, text: "" }));
  expect(distinct(named).map(({ name }) => name)).toEqual(["a.svg", "a-2.svg", "a-2-2.svg", "b.svg"]);
});

test("titles are broken behind commas where they are wider than their panel", () => {
  expect(broken("TCP: newreno, queue: 10, hosts: 2001", 200)).toEqual(["TCP: newreno, queue: 10,", "hosts: 2001"]);
  expect(broken("TCP: newreno, queue: 10, hosts: 2001", 800)).toEqual(["TCP: newreno, queue: 10, hosts: 2001"]);
  expect(broken("a word that is wider, b", 20)).toEqual(["a word that is wider,", "b"]);
  expect(broken("", 100)).toEqual([]);
});
