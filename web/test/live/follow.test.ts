import { afterEach, beforeEach, expect, test } from "vitest";
import { Api, Refused } from "../../src/live/api";
import { choose, Follower, type View } from "../../src/live/follow";
import type { Running, Status } from "../../src/live/state";
import { Mock, Model, TOKEN } from "./mock";

let mock: Mock;
let address: string;
let time: number;
beforeEach(async () => {
  mock = new Mock();
  address = await mock.listen();
  time = 0;
});
afterEach(() => mock.close());

/** A follower of the links of the mock, with what it has reported. */
function following(wanted: string | null, token = TOKEN) {
  const seen = { states: [] as Status[], views: [] as View[] };
  const api = new Api(token, address);
  const follower = new Follower(api, wanted, (status) => seen.states.push(status), (view) => seen.views.push(view), () => time);
  return { api, follower, seen };
}

test("a link is chosen", () => {
  const links = ["1", "2", "3"].map((id) => ({ id }) as Running);
  expect(choose(links, null, null)).toBe("1");
  expect(choose(links, "2", null)).toBe("2");
  expect(choose(links, "9", null), "a wanted link may start later").toBeNull();
  expect(choose(links, "9", new Set(["1", "2", "3"])), "others that ran before stay a choice").toBeNull();
  expect(choose(links, "9", new Set(["1", "3"])), "one that started after the end").toBe("2");
  expect(choose([], null, null)).toBeNull();
});

test("states are followed beyond the end of a link", async () => {
  const { follower, seen } = following(null);
  await follower.look();
  expect(follower.view.trouble).toEqual({ kind: "waiting" });
  mock.start(new Model("1", "curl"));
  await follower.look();
  await follower.look();
  expect(seen.states.map(({ link }) => link.id)).toEqual(["1", "1"]);
  mock.end("1");
  await follower.look();
  expect(follower.view).toMatchObject({ shown: null, trouble: { kind: "ended", id: "1" } });
  await follower.look();
  expect(follower.view.trouble, "it stays said").toEqual({ kind: "ended", id: "1" });
  mock.start(new Model("2", "ping"));
  await follower.look();
  expect(follower.view).toMatchObject({ shown: "2", trouble: { kind: "none" } });
  expect(seen.states.at(-1)?.link.command).toBe("ping");
});

test("a link that starts is in the list within two seconds", async () => {
  mock.start(new Model("1", "curl"));
  const { follower, seen } = following("1");
  await follower.look();
  mock.start(new Model("2", "ping"));
  time = 1000;
  await follower.look();
  expect(follower.view.links.length).toBe(1);
  time = 2000;
  await follower.look();
  expect(follower.view.links.map(({ id }) => id)).toEqual(["1", "2"]);
  expect(follower.view.shown).toBe("1");
  const reports = seen.views.length;
  time = 4000;
  await follower.look();
  expect(seen.views.length, "nothing else is nothing new").toBe(reports);
});

test("a wrong token and a server that is gone are told apart", async () => {
  mock.start(new Model("1", "curl"));
  const wrong = following(null, "guessed");
  await wrong.follower.look();
  expect(wrong.follower.view.trouble).toEqual({ kind: "token" });
  const { follower } = following(null);
  await follower.look();
  expect(follower.view.trouble).toEqual({ kind: "none" });
  await mock.close();
  await follower.look();
  expect(follower.view, "the link may still run").toMatchObject({ shown: "1", trouble: { kind: "unreachable" } });
});

test("requests change the link, and refusals have their reason", async () => {
  mock.start(new Model("1", "curl"));
  const { api } = following(null);
  expect(await api.set("1", "down", "rate=5000000bit,delay=20ms")).toEqual([["down", "bottleneck: 5Mbit/s counted at IP, drop-tail 50p; delay: 20ms; errors: 1% lost"]]);
  expect((await api.status("1")).down.rate).toBe(5e6);
  const refused = api.set("1", "both", "speed=1");
  await expect(refused).rejects.toThrow("speed=1: there is no `speed`");
  await expect(refused).rejects.toMatchObject({ status: 400 });
  await expect(api.status("7")).rejects.toThrow(Refused);
  expect((await api.profiles()).map(({ kind }) => kind)).toContain("loss");
  expect((await api.addresses()).length).toBe(2);
  expect(await api.capture("1")).toEqual({ file: null, bytes: 0 });
  expect((await api.record("1", true)).file).toBe("link-1.pcapng");
  expect(await (await api.captured("1")).text()).toBe("packets");
});

test("an answer that is not JSON is a refusal with its status", async () => {
  const api = new Api("x", "", () => Promise.resolve(new Response("<html>", { status: 502, statusText: "Bad Gateway" })));
  await expect(api.links()).rejects.toThrow("the server answered 502 Bad Gateway");
});
