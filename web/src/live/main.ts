// Builds the live page of a link: what the link does now, and controls that change it.

import "uplot/dist/uPlot.min.css";
import "../style.css";
import "./live.css";
import { h } from "../dom";
import { radios } from "../inputs";
import { duration } from "../units";
import { type Fragment, read, written } from "./address";
import { Api } from "./api";
import type { Change } from "./changes";
import { write } from "./chart";
import { controls } from "./controls";
import { otherDevices } from "./devices";
import { Follower, type Trouble, type View } from "./follow";
import { History } from "./history";
import { Poll } from "./poll";
import { recorderButton } from "./recorder";
import { DIRECTIONS, type Status } from "./state";
import { flowTable } from "./table";
import { way } from "./way";

/** Ranges of the charts in seconds, with their names. */
const RANGES: readonly [string, number][] = [
  ["10 s", 10],
  ["60 s", 60],
  ["10 min", 600],
];

/** Pause between an answer and the next request, in milliseconds. */
const PAUSE = 100;
/** The same while nobody sees the page, or no link is there. */
const SLOW = 1000;
/** The same while the server refuses the token. */
const REFUSED = 10_000;

/** Time between two looks of numbers, which a reader follows, and of the table, in milliseconds. */
const NUMBERS = 250;
const TABLE = 1000;

/** Builds the page; returns what ends it. */
function build(root: HTMLElement, fragment: Fragment): () => void {
  const api = new Api(fragment.token);
  const history = new History();
  let range = 60;
  let due = false;
  let [numbersAt, tableAt, coarseAt] = [0, 0, 0];

  const draw = () => {
    due = false;
    const now = performance.now();
    const status = history.newest;
    if (status === null) return;
    if (now - numbersAt >= NUMBERS) {
      numbersAt = now;
      for (const one of ways) one.write(history);
      panel.show(follower.view.shown === null ? null : status);
      head(status);
    }
    if (now - tableAt >= TABLE) {
      tableAt = now;
      table.write(history);
    }
    // A chart of ten minutes changes once a second.
    if (range <= 60 || now - coarseAt >= TABLE) {
      coarseAt = now;
      for (const one of ways) one.draw(history, range);
    }
  };
  const redraw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(draw);
  };
  const redrawAll = () => {
    numbersAt = tableAt = coarseAt = 0;
    redraw();
  };

  const title = h("h1", {}, "lasthop");
  const facts = h("p", { class: "hint" });
  const trouble = h("p", { role: "status", class: "trouble" });
  const nav = h("nav", { "aria-label": "Running links" });
  const head = ({ link, at_ns }: Status) => {
    write(title, link.command);
    title.title = link.command;
    write(facts, `Link ${link.id}, process ${link.pid}, running for ${duration(Math.floor(at_ns / 1e9))}`);
    document.title = `lasthop: ${link.command}`;
  };
  const changed = ({ links, shown, trouble: why }: View) => {
    write(trouble, words(why, fragment.link));
    trouble.hidden = trouble.textContent === "";
    nav.hidden = links.length < (shown === null ? 1 : 2);
    const entry = ({ id, command }: View["links"][number]) =>
      h("a", { href: written({ token: fragment.token, link: id }), "aria-current": id === shown ? "true" : false }, `${id}: ${command}`);
    nav.replaceChildren("Links:", ...links.map(entry));
    if (shown === null) panel.show(null);
    recorder.allow(shown !== null);
  };
  const follower = new Follower(
    api,
    fragment.link,
    (status) => {
      history.add(status);
      redraw();
    },
    changed,
  );

  const recorder = recorderButton(api, () => follower.view.shown);
  const panel = controls({
    status: () => (follower.view.shown === null ? null : history.newest),
    change: async (changes: readonly Change[]) => {
      const link = follower.view.shown;
      if (link === null) throw new Error("no link is shown");
      for (const { direction, parameters } of changes) await api.set(link, direction, parameters);
      await poll.refresh();
      redrawAll();
    },
  });
  const ways = DIRECTIONS.map((direction) => way(direction, redrawAll));
  const table = flowTable();
  const ranges = radios("range", "Charts show", RANGES.map(([name]) => name), 1, (place) => {
    range = RANGES[place]?.[1] ?? 60;
    redrawAll();
  });
  const changing = h("details", { id: "controls", open: matchMedia("(min-width: 641px)").matches }, h("summary", {}, "Change the link"), panel.element);
  root.replaceChildren(
    h("header", {}, title, facts, trouble, nav),
    changing,
    h("div", { class: "row tools" }, ranges, recorder.element),
    h("div", { class: "ways" }, ...ways.map((one) => one.element)),
    table.element,
    h("footer", {}, otherDevices(api, fragment.token), h("p", { class: "hint" }, "This page uses the ", h("a", { href: "/api/openapi.json" }, "HTTP API of lasthop serve"), ".")),
  );
  changed(follower.view);

  let offered = false;
  const look = async () => {
    await follower.look();
    const { shown, trouble } = follower.view;
    if (trouble.kind !== "none" || shown === null) return;
    await recorder.look(shown);
    if (offered) return;
    try {
      panel.offer(await api.profiles());
      offered = true;
    } catch {
      // Asked again with the next state.
    }
  };
  const pause = () => {
    const { trouble } = follower.view;
    if (trouble.kind === "token") return REFUSED;
    return document.hidden || trouble.kind !== "none" ? SLOW : PAUSE;
  };
  const poll = new Poll(look, pause);
  const seen = () => {
    if (document.hidden) return;
    void poll.refresh();
    redrawAll();
  };
  document.addEventListener("visibilitychange", seen);
  return () => {
    poll.stop();
    document.removeEventListener("visibilitychange", seen);
    for (const one of ways) one.destroy();
  };
}

/** What is said about a link that gives no state. */
function words(trouble: Trouble, wanted: string | null): string {
  switch (trouble.kind) {
    case "none":
      return "";
    case "waiting":
      return wanted === null ? "No link is running. The page shows the next one that starts." : `Link ${wanted} is not running. The page shows it when it starts.`;
    case "ended":
      return `Link ${trouble.id} has ended. The page shows the next one that starts.`;
    case "unreachable":
      return "The server does not answer. The page goes on when it does.";
    case "token":
      return "The server refuses the token in the address of this page. Open the address that lasthop serve printed.";
    case "error":
      return trouble.message;
  }
}

const root = document.getElementById("live") ?? document.body;
let end = build(root, read(location.hash));
addEventListener("hashchange", () => {
  end();
  end = build(root, read(location.hash));
});
