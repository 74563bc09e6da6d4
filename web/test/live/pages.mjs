// Serves the built live page with links that are models, for a look in a browser:
//
//     node test/live/pages.mjs [PORT [SPEED]]

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const near = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Starts a server with one link, whose time passes `speed` times as fast. */
export async function serve(port = 0, speed = 1) {
  const { module: mock } = await runnerImport(near("mock.ts"), { logLevel: "error" });
  const asset = (name) => readFileSync(near(`../../../crates/report/assets/${name}`), "utf8");
  const head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>lasthop</title>';
  const policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'\">";
  const text = `${head}${policy}<style>${asset("live.css")}</style></head><body><main id="live"></main><script>${asset("live.js")}</script></body></html>`;
  const server = new mock.Mock({ "": { type: "text/html", text } }, speed);
  server.start(new mock.Model("1", "curl -O http://host.lasthop:8000/large-file"));
  const address = await server.listen(port);
  return { server, Model: mock.Model, address: `${address}/`, page: `${address}/#token=${mock.TOKEN}` };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , port = "8181", speed = "1"] = process.argv;
  console.log((await serve(Number(port), Number(speed))).page);
}
