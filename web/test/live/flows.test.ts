import { expect, test } from "vitest";
import { addressOf, devices, flows } from "../../src/live/flows";
import type { FlowStatus } from "../../src/live/state";
import { status } from "./example";

function flow(inside: string, bytes: number, protocol = "tcp"): FlowStatus {
  return { protocol, inside, outside: "10.0.0.1:80", up: { packets: 1, bytes: 0, lost: 0 }, down: { packets: 1, bytes, lost: 1 } };
}

test("the fastest flow is first", () => {
  const [before, now] = [status(0), status(20)];
  const rows = flows({ ...before, flows: [flow("10.0.0.2:1", 0), flow("10.0.0.3:2", 1e6)] }, { ...now, flows: [flow("10.0.0.3:2", 1e6), flow("10.0.0.2:1", 250e3), flow("10.0.0.2:5", 500e3), flow("10.0.0.4", 10, "icmp")] });
  expect(rows.map(({ inside, down }) => [inside, down])).toEqual([
    ["10.0.0.2:5", 2e6],
    ["10.0.0.2:1", 1e6],
    ["10.0.0.4", 40],
    ["10.0.0.3:2", 0],
  ]);
  const sums = devices(rows);
  expect(sums.map(({ inside, flows, down, bytes, lost }) => [inside, flows, down, bytes, lost])).toEqual([
    ["10.0.0.2", 2, 3e6, 750e3, 2],
    ["10.0.0.4", 1, 40, 10, 1],
    ["10.0.0.3", 1, 0, 1e6, 1],
  ]);
});

test("a flow that was forgotten and came again has no negative rate", () => {
  const rows = flows({ ...status(0), flows: [flow("10.0.0.2:1", 1e6)] }, { ...status(10), flows: [flow("10.0.0.2:1", 5)] });
  expect(rows[0]?.down).toBe(0);
});

test("an address has no port", () => {
  expect(addressOf("10.0.0.2:80", "tcp")).toBe("10.0.0.2");
  expect(addressOf("[2001:db8::2]:80", "udp")).toBe("2001:db8::2");
  expect(addressOf("2001:db8::2", "icmp")).toBe("2001:db8::2");
});
