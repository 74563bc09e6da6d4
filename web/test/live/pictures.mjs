// Takes pictures of the live page, on a desk and on a phone, light and dark:
//
//     node test/live/pictures.mjs FOLDER [SECONDS]

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, sleep } from "./chromium.mjs";
import { serve } from "./pages.mjs";

const [, , folder = "pictures", seconds = "20"] = process.argv;
mkdirSync(folder, { recursive: true });
const { server, Model, page } = await serve(0, 3);
server.start(new Model("2", "ping host.lasthop", 4800, 60));
const browser = await chromium();
const shape = (width, height, mobile) => browser.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
const theme = (value) => browser.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
const picture = async (name, full = false) => {
  await sleep(1.5);
  const { data } = await browser.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: full });
  writeFileSync(join(folder, `${name}.png`), Buffer.from(data, "base64"));
};
await shape(1280, 900, false);
await theme("light");
const models = [...server.links.values()];
for (const { id } of models) server.end(id);
await browser.call("Page.navigate", { url: page });
await picture("desk-waiting");
for (const model of models) server.start(model);
await sleep(Number(seconds));
await picture("desk-light");
await browser.evaluate("document.getElementById('range-2').click()");
await picture("desk-ten-minutes");
await browser.evaluate("document.getElementById('range-0').click()");
await picture("desk-ten-seconds");
await browser.evaluate("document.getElementById('range-1').click()");
await theme("dark");
await picture("desk-dark");
await browser.evaluate("document.getElementById('devices').open = true; scrollTo(0, 1e6)");
await picture("desk-dark-foot");
await theme("light");
await shape(390, 844, true);
await browser.evaluate("scrollTo(0, 0)");
await picture("phone-open");
await browser.evaluate("document.getElementById('controls').open = false");
await picture("phone-light");
await theme("dark");
await picture("phone-dark");
await browser.evaluate("document.getElementById('down').scrollIntoView()");
await picture("phone-dark-down");
await browser.evaluate("document.getElementById('flows').scrollIntoView()");
await picture("phone-dark-flows");
await shape(360, 740, true);
console.log("wider than a phone of 360 pixels:", await browser.evaluate("document.documentElement.scrollWidth > 360"));
await theme("light");
await shape(1280, 900, false);
await browser.evaluate("document.getElementById('controls').open = true; scrollTo(0, 0); document.getElementById('parameters').value = 'speed=1'; document.querySelector('#parameters + button').click(); document.querySelector('[aria-label=\"more rate\"]').click()");
await picture("desk-refused");
server.end("1");
server.end("2");
await picture("desk-ended");
console.log("complaints:", browser.complaints);
await browser.end();
await server.close();
process.exit(0);
