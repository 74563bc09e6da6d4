// A headless Chromium, controlled by the Chrome DevTools protocol over a pipe.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts Chromium with one empty page. */
export async function chromium(options = []) {
  const profile = mkdtempSync(join(tmpdir(), "live-"));
  const process = spawn(
    "chromium",
    ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--enable-precise-memory-info", "--remote-debugging-pipe", `--user-data-dir=${profile}`, ...options, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
  );
  const waiting = new Map();
  const complaints = [];
  let [rest, next, session] = ["", 0, undefined];
  process.stdio[4].on("data", (bytes) => {
    const messages = (rest + bytes).split("\0");
    rest = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      if (message.method === "Runtime.exceptionThrown" || message.method === "Log.entryAdded") complaints.push(JSON.stringify(message.params));
      if (message.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(message.params.type)) complaints.push(JSON.stringify(message.params.args));
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      if (message.error !== undefined) reject?.(new Error(JSON.stringify(message.error)));
      else resolve?.(message.result);
    }
  });
  const send = (method, params, of) =>
    new Promise((resolve, reject) => {
      waiting.set(++next, { resolve, reject });
      process.stdio[3].write(`${JSON.stringify({ id: next, method, params, ...of })}\0`);
    });
  const call = (method, params = {}) => send(method, params, session === undefined ? {} : { sessionId: session });
  /** The processes of the browser, with the processor time that each has used, in seconds. */
  const processes = async () => (await send("SystemInfo.getProcessInfo", {}, {})).processInfo;
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  session = (await call("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log", "Performance"]) await call(`${domain}.enable`);
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const end = async () => {
    const ended = new Promise((resolve) => process.once("exit", resolve));
    process.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { call, evaluate, processes, complaints, end };
}

export const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1e3));
