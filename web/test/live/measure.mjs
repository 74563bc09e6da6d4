// Measures the live page in a headless Chromium: the heap after the buffers are full, and the
// processor time per second. With a SPEED of 10, the time of the link passes ten times as fast, so
// that all buffers are full after a minute.
//
//     node test/live/measure.mjs [SECONDS [RANGE [SPEED]]]       RANGE: 0 (10 s), 1 (60 s), 2 (10 min)

import { chromium, sleep } from "./chromium.mjs";
import { serve } from "./pages.mjs";

const [, , seconds = "120", range = "1", speed = "10"] = process.argv;
const STEP = 10;
const { server, page } = await serve(0, Number(speed));
const browser = await chromium(["--js-flags=--expose-gc"]);
await browser.call("Emulation.setDeviceMetricsOverride", { width: 1280, height: 1400, deviceScaleFactor: 1, mobile: false });
await browser.call("Page.navigate", { url: page });
await sleep(3);
await browser.evaluate(`document.getElementById("range-${range}").click()`);
const metrics = async () => Object.fromEntries((await browser.call("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
/** Processor time of the pages, of which all but one are empty, and of all processes. */
const processor = async () => {
  const all = await browser.processes();
  const sum = (some) => some.reduce((total, { cpuTime }) => total + cpuTime, 0);
  return { page: sum(all.filter(({ type }) => type === "renderer")), browser: sum(all) };
};
let [before, requests, used] = [await metrics(), server.requests, await processor()];
for (let at = STEP; at <= Number(seconds); at += STEP) {
  await sleep(STEP);
  await browser.evaluate("gc()");
  const now = await metrics();
  const elapsed = now.Timestamp - before.Timestamp;
  const per = (name) => ((1e3 * (now[name] - before[name])) / elapsed).toFixed(0).padStart(4);
  const cpu = await processor();
  const rows = await browser.evaluate("document.querySelector('figure.live').dataset.rows");
  const rate = ((server.requests - requests) / elapsed).toFixed(1);
  console.log(
    `${String(at).padStart(4)} s: heap ${(now.JSHeapUsedSize / 1e6).toFixed(2)} MB, ${now.Nodes} nodes, ${rows} rows, ${rate} requests/s;`,
    `processor, ms/s: ${Object.keys(cpu).map((name) => `${((1e3 * (cpu[name] - used[name])) / elapsed).toFixed(0)} ${name}`).join(", ")}, ${per("ScriptDuration")} script, ${per("LayoutDuration")} layout`,
  );
  [before, requests, used] = [now, server.requests, cpu];
}
console.log("complaints:", browser.complaints, "requests at once:", server.busy.most);
await browser.end();
await server.close();
process.exit(0);
