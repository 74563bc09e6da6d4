import { expect, test } from "vitest";
import { csv } from "../src/csv";

test("fields are quoted where they have to be (RFC 4180)", () => {
  expect(csv(["a", "b"], [["1,5", 'say "x"'], [null, 2]])).toBe('a,b\r\n"1,5","say ""x"""\r\n,2\r\n');
  expect(csv(["a"], [["two\nlines"]])).toBe('a\r\n"two\nlines"\r\n');
});
