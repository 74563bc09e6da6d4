// A link that exists only in numbers: two flows over a bottleneck with a queue, random losses and a
// channel that is bad at times. For tests of the live page, without a kernel and without packets.

import { SILENT } from "./example.ts";
import type { Changed, Direction, FlowStatus, Running, Status, WayStatus } from "../../src/live/state";

/** Bytes of a packet. */
const PACKET = 1250;
/** Time that the model advances at once, in seconds. */
const TICK = 0.01;

interface Way {
  status: WayStatus & { lost_by_reason: Record<string, number> };
  /** Rate that is offered, in bit/s. */
  offered: number;
  room: number;
  loss: number;
  outage: number;
  /** Fractions of packets that are not whole yet. */
  credit: { offered: number; sent: number };
  others: string[];
}

function wayOf(rate: number, delay: number, offered: number): Way {
  return {
    status: { ...SILENT, rate, delay_ns: delay * 1e6, lost_by_reason: {}, channel: "good" },
    offered,
    room: 50,
    loss: 0.01,
    outage: 0,
    credit: { offered: 0, sent: 0 },
    others: [],
  };
}

/** A refusal, with a text for the user. */
export class Wrong extends Error {}

export class Model {
  readonly id: string;
  readonly #command: string;
  readonly #ways: Readonly<Record<Direction, Way>> = { up: wayOf(1e6, 40, 0.3e6), down: wayOf(2e6, 40, 1.95e6) };
  readonly #pid: number;
  readonly #more: number;
  #time = 0;
  #seed = 1;

  /** `more` flows besides the two are there, but send nothing. */
  constructor(id: string, command: string, pid = 4711, more = 0) {
    this.id = id;
    this.#command = command;
    this.#pid = pid;
    this.#more = more;
  }

  /** Lets time pass. */
  advance(seconds: number): void {
    for (let left = seconds; left > 1e-9; left -= TICK) {
      this.#time += TICK;
      for (const way of Object.values(this.#ways)) this.#tick(way);
    }
  }

  #random(): number {
    this.#seed = (Math.imul(this.#seed, 1664525) + 1013904223) >>> 0;
    return this.#seed / 2 ** 32;
  }

  #tick(way: Way): void {
    const { status, credit } = way;
    const bad = this.#time % 12 > 11;
    status.channel = bad ? "bad" : "good";
    const sawtooth = 0.75 + 0.5 * ((this.#time % 8) / 8);
    credit.offered += (way.offered * sawtooth * TICK) / 8 / PACKET;
    for (; credit.offered >= 1; credit.offered--) {
      status.packets++;
      status.bytes += PACKET;
      if (status.waiting >= way.room) lose(status, "queue-full");
      else status.waiting++;
    }
    way.outage = Math.max(way.outage - TICK, 0);
    credit.sent = Math.min(credit.sent + ((status.rate ?? 1e9) * TICK) / 8 / PACKET, 100);
    for (; credit.sent >= 1 && status.waiting > 0; credit.sent--) {
      const queueing = (status.waiting * PACKET * 8 * 1e9) / (status.rate ?? 1e9);
      status.waiting--;
      if (way.outage > 0) lose(status, "outage");
      else if (this.#random() < (bad ? 0.4 : way.loss)) lose(status, "error");
      else {
        status.delivered++;
        status.delivered_bytes += PACKET;
        status.queueing_sum_ns += queueing;
        status.delay_sum_ns += queueing + status.delay_ns;
        if (this.#random() < 0.002) status.damaged++;
      }
    }
    // A bottleneck that has nothing to send saves no capacity for later.
    if (status.waiting === 0) credit.sent = 0;
  }

  running(): Running {
    const { up, down } = this.#ways;
    return {
      id: this.id,
      pid: this.#pid,
      command: this.#command,
      seconds: Math.floor(this.#time),
      up: described(up),
      down: described(down),
      packets: [up.status.packets, down.status.packets],
      lost: [up.status.lost, down.status.lost],
    };
  }

  status(): Status {
    const { up, down } = this.#ways;
    const counters = ({ status }: Way, share: number) => ({ packets: Math.round(status.packets * share), bytes: Math.round(status.packets * share) * PACKET, lost: Math.round(status.lost * share) });
    const flow = (protocol: string, inside: string, outside: string, ofUp: number, ofDown: number): FlowStatus => ({ protocol, inside, outside, up: counters(up, ofUp), down: counters(down, ofDown) });
    const flows = [flow("tcp", "10.11.0.2:41000", "192.0.2.1:443", 0.2, 0.9), flow("udp", "10.11.0.3:5004", "192.0.2.9:5004", 0.8, 0.1)];
    for (let place = 0; place < this.#more; place++) flows.push(flow("tcp", `10.11.1.${place % 250}:${30000 + place}`, "[2001:db8::1]:80", 0, 0));
    return structuredClone({ link: this.running(), at_ns: Math.round(this.#time * 1e9), up: up.status, down: down.status, flows });
  }

  /** Changes parameters, as `lasthop link set` does. */
  set(direction: string, parameters: string): Changed[] {
    const names = direction === "both" ? (["up", "down"] as const) : ([direction] as Direction[]);
    for (const part of parameters.split(",")) {
      const [name = "", value = ""] = part.split("=");
      const amount = Number.parseFloat(value);
      for (const way of names.map((direction) => this.#ways[direction])) {
        if (way === undefined) throw new Wrong(`there is no direction “${direction}”`);
        if (name === "rate" && value.endsWith("mbit")) way.status.rate = amount * 1e6;
        else if (name === "rate" && amount > 0) way.status.rate = amount;
        else if (name === "delay" && value.endsWith("us")) way.status.delay_ns = amount * 1e3;
        else if (name === "delay" && value.endsWith("ms")) way.status.delay_ns = amount * 1e6;
        else if (name === "loss") way.loss = value === "none" ? 0 : value.endsWith("%") ? amount / 100 : 0.05;
        else if (name === "outage" && value.startsWith("now+")) way.outage = Number.parseFloat(value.slice(4));
        else if (name === "profile" && value === "lte") Object.assign(way.status, { rate: 20e6, delay_ns: 38e6 });
        else if (name === "queue") way.others = [part];
        else throw new Wrong(`${part}: there is no \`${name}\`: there are rate, queue, delay, loss, outage`);
      }
    }
    return names.map((direction) => [direction, described(this.#ways[direction])]);
  }
}

function lose(status: Way["status"], reason: string): void {
  status.lost++;
  status.lost_by_reason[reason] = (status.lost_by_reason[reason] ?? 0) + 1;
}

function described({ status, loss, room, others }: Way): string {
  const errors = loss > 0 ? `; errors: ${+(loss * 100).toPrecision(3)}% lost` : "";
  return `bottleneck: ${(status.rate ?? 0) / 1e6}Mbit/s counted at IP, drop-tail ${room}p; delay: ${status.delay_ns / 1e6}ms${errors}${others.map((other) => `; ${other}`).join("")}`;
}
