// A server with the HTTP API of `lasthop serve`, over links that are models. `pages.mjs` runs it
// for a browser.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Model, Wrong } from "./model";

export { Model };

export const TOKEN = "secret";

/** A page, by the names of its files. */
export type Pages = Readonly<Record<string, { type: string; text: string }>>;

const PROFILES = [
  { name: "geo", kind: "link", title: "Geostationary satellite" },
  { name: "lte", kind: "link", title: "LTE as measured across Europe" },
  { name: "lite-1", kind: "loss", title: "Errors of 30 ms, 2 s apart" },
  { name: "lite-4", kind: "loss", title: "Errors of 100 ms, 2 s apart" },
];

export class Mock {
  readonly links = new Map<string, Model>();
  readonly #server: Server;
  readonly #recording = new Map<string, boolean>();
  readonly #pages: Pages;
  readonly #speed: number;
  readonly #last = new Map<Model, number>();
  /** Requests that are being answered, and the most that were at once. */
  busy = { now: 0, most: 0 };
  requests = 0;

  /** Time of the links passes `speed` times as fast. */
  constructor(pages: Pages = {}, speed = 1) {
    this.#pages = pages;
    this.#speed = speed;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  start(model: Model): void {
    this.links.set(model.id, model);
    this.#last.set(model, performance.now());
  }

  end(id: string): void {
    this.links.delete(id);
  }

  /** Listens; returns the address. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").replace(/^\//, "");
    const page = this.#pages[path];
    if (page !== undefined) return void response.writeHead(200, { "Content-Type": page.type }).end(page.text);
    this.requests++;
    this.busy.now++;
    this.busy.most = Math.max(this.busy.most, this.busy.now);
    const [status, body] = request.headers.authorization === `Bearer ${TOKEN}` ? await this.#api(path.split("/"), request) : [401, { error: "wrong token" }];
    this.busy.now--;
    const isFile = body instanceof Uint8Array;
    response.writeHead(status, { "Content-Type": isFile ? "application/octet-stream" : "application/json" }).end(isFile ? body : JSON.stringify(body));
  }

  async #api([api, what, id, verb, part]: string[], request: IncomingMessage): Promise<[number, unknown]> {
    if (api !== "api") return [404, { error: "there is no such page" }];
    if (what === "profiles") return [200, PROFILES];
    if (what === "addresses") return [200, ["http://192.168.1.5:8181/", "http://[2001:db8::5]:8181/"]];
    if (what !== "links") return [404, { error: "there is no such request" }];
    if (id === undefined) return [200, [...this.links.values()].map((link) => link.running())];
    const link = this.links.get(id);
    if (link === undefined) return [404, { error: `link ${id} has ended` }];
    const now = performance.now();
    link.advance(((now - (this.#last.get(link) ?? now)) / 1e3) * this.#speed);
    this.#last.set(link, now);
    if (verb === undefined) return [200, link.status()];
    if (verb === "capture" && part === "file") return [200, Buffer.from("packets")];
    const body = request.method === "POST" ? ((await read(request)) as Record<string, unknown>) : null;
    if (verb === "capture") {
      if (body !== null) this.#recording.set(id, body["record"] === true);
      return [200, this.#recording.has(id) ? { file: `link-${id}.pcapng`, bytes: link.status().down.bytes } : { file: null, bytes: 0 }];
    }
    try {
      return [200, { now: link.set(String(body?.["direction"]), String(body?.["parameters"])) }];
    } catch (error) {
      return error instanceof Wrong ? [400, { error: error.message }] : [500, { error: String(error) }];
    }
  }
}

async function read(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request) text += String(part);
  return JSON.parse(text);
}
