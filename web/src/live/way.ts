// One direction of a link: its parameters, numbers and charts.

import { h } from "../dom";
import { LIVE } from "../palette";
import { fixed, number, quantity } from "../units";
import { reasonWords } from "./causes";
import { type Chart, chart, write } from "./chart";
import type { History } from "./history";
import { inside, type Interval } from "./interval";
import type { Direction, WayStatus } from "./state";

const TITLES: Readonly<Record<Direction, string>> = { up: "Up, to the network", down: "Down, to the program" };

export interface Way {
  element: HTMLElement;
  /** Writes the parameters and numbers. */
  write(history: History): void;
  /** Draws the charts. */
  draw(history: History, range: number): void;
  destroy(): void;
}

function charts(direction: Direction): Chart[] {
  const described = (what: string) => `${what}, ${direction} the link, over the last seconds`;
  return [
    {
      title: "Rate",
      description: described("Rate of delivered packets and rate of the bottleneck"),
      unit: "bit/s",
      least: 100,
      lines: [
        { name: "delivered", column: "rate", colour: LIVE.rate, filled: true },
        { name: "bottleneck", column: "limit", colour: LIVE.limit, limit: true },
      ],
      times: false,
    },
    {
      title: "Delay",
      description: described("Mean delay of delivered packets, and their mean time in the queue"),
      unit: "ms",
      least: 1,
      lines: [
        { name: "delay", column: "delay", colour: LIVE.delay },
        { name: "in the queue", column: "queueing", colour: LIVE.queueing, filled: true },
      ],
      times: false,
    },
    {
      title: "Packets waiting",
      description: described("Packets that wait for the bottleneck"),
      unit: "packets",
      least: 4,
      lines: [{ name: "waiting", column: "waiting", colour: LIVE.waiting, filled: true }],
      times: false,
    },
    { title: "Losses", description: described("Lost packets by cause"), unit: "packets", least: 4, lines: [], times: true },
  ];
}

/** Creates a direction; `redraw` is called when a chart has to be drawn outside of its turn. */
export function way(direction: Direction, redraw: () => void): Way {
  const parameters = h("p", { class: "parameters" });
  const names = ["rate", "delay", "inside", "lost", "causes", "others", "channel"] as const;
  const titles = { rate: "Rate", delay: "Delay", inside: "Inside", lost: "Lost", causes: "Causes", others: "Changed", channel: "Channel" };
  const values = Object.fromEntries(names.map((name) => [name, h("dd", { "data-number": name }, "–")])) as Record<(typeof names)[number], HTMLElement>;
  const list = h("dl", { class: "facts numbers" }, ...names.flatMap((name) => [h("dt", {}, titles[name]), values[name]]));
  const drawn = charts(direction).map((of) => chart(of, redraw));
  const element = h(
    "section",
    { id: direction, class: "way", "aria-labelledby": `${direction}-title` },
    h("h2", { id: `${direction}-title` }, TITLES[direction]),
    parameters,
    list,
    ...drawn.map((one) => one.element),
  );
  return {
    element,
    write(history) {
      const [status, recent] = [history.newest, history.recent(direction)];
      if (status === null || recent === null) return;
      const now = status[direction];
      write(parameters, status.link[direction]);
      for (const name of names) write(values[name], TEXTS[name](now, recent));
      values.channel.className = now.channel ?? "";
      values.lost.className = recent.lost > 0 ? "some" : "";
    },
    draw(history, range) {
      const status = history.newest;
      if (status === null) return;
      for (const one of drawn) one.draw(history.rows(direction, range), status.at_ns / 1e9, range);
    },
    destroy() {
      for (const one of drawn) one.destroy();
    },
  };
}

/** Each number of a direction as text. */
const TEXTS = {
  rate: ({ rate }: WayStatus, recent: Interval) => {
    const of = rate === null ? "" : ` of ${quantity(rate, "bit/s")}`;
    return `${quantity(recent.rate, "bit/s")}${of}, ${number(recent.packets, 3)} packets/s`;
  },
  delay: (_now: WayStatus, { delay, queueing }: Interval) => (delay === null ? "–" : `${quantity(delay, "ms")}, ${quantity(queueing, "ms")} of it in the queue`),
  inside: (now: WayStatus) => `${packets(inside(now))}, ${fixed(now.waiting, 0)} of them waiting`,
  lost: ({ lost, packets: all, duplicated }: WayStatus, recent: Interval) => {
    const share = all > 0 ? ` (${number((100 * lost) / (all + duplicated), 2)} %)` : "";
    return `${packets(lost)}${share}, ${fixed(recent.lost, 0)} in the last second`;
  },
  causes: ({ lost_by_reason }: WayStatus, { lostBy }: Interval) => {
    const causes = Object.entries(lost_by_reason).filter(([, count]) => count > 0);
    const text = ([reason, count]: [string, number]) => `${fixed(count, 0)} ${reasonWords(reason)}${lostBy[reason] === undefined ? "" : ` (+${lostBy[reason]})`}`;
    return causes.length === 0 ? "–" : causes.map(text).join(", ");
  },
  others: ({ damaged, reordered, duplicated, congestion_marked }: WayStatus) =>
    `${fixed(damaged, 0)} damaged, ${fixed(reordered, 0)} reordered, ${fixed(duplicated, 0)} duplicated, ${fixed(congestion_marked, 0)} marked`,
  channel: ({ channel }: WayStatus) => channel ?? "–",
};

function packets(count: number): string {
  return `${fixed(count, 0)} ${count === 1 ? "packet" : "packets"}`;
}
