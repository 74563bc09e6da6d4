import { expect, test } from "vitest";
import { read, written } from "../../src/live/address";

test("the fragment has the token and the link", () => {
  expect(read("#token=abc&link=2")).toEqual({ token: "abc", link: "2" });
  expect(read("#token=abc")).toEqual({ token: "abc", link: null });
  expect(read("")).toEqual({ token: "", link: null });
  for (const fragment of [{ token: "a+b/c=", link: "1" }, { token: "x", link: null }]) expect(read(written(fragment))).toEqual(fragment);
  expect(written({ token: "abc", link: null })).toBe("#token=abc");
});
