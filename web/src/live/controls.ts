// Changes the link.

import { h } from "../dom";
import { radios, select } from "../inputs";
import { type Chosen, said } from "./api";
import { type Change, common, delay, DELAYS, directions, faster, later, loss, rate, RATES, STEP, understood, unitFor } from "./changes";
import type { Profile, Status, WayStatus } from "./state";

const CHOICES: readonly Chosen[] = ["both", "up", "down"];

/** Time for which a success is shown, in milliseconds. */
const SHOWN = 2500;

export interface Actions {
  /** The newest state. */
  status(): Status | null;
  /** Changes the link, and waits for the state after that. */
  change(changes: readonly Change[]): Promise<void>;
}

export interface Controls {
  element: HTMLElement;
  /** Shows the profiles to choose from. */
  offer(profiles: readonly Profile[]): void;
  /** Shows the values of the link, or that there is none. */
  show(status: Status | null): void;
}

/** A place beside a control for the result of its last action. */
export function resultOf(): { element: HTMLElement; run: (act: () => Promise<string>) => Promise<void> } {
  const element = h("output", { class: "result" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const say = (text: string, kind: string) => {
    clearTimeout(timer);
    element.textContent = text;
    element.className = `result ${kind}`;
  };
  const run = async (act: () => Promise<string>) => {
    try {
      say(await act(), "good");
      timer = setTimeout(() => say("", ""), SHOWN);
    } catch (error) {
      say(said(error), "error");
    }
  };
  return { element, run };
}

export function controls(actions: Actions): Controls {
  let chosen: Chosen = "both";
  let last: Status | null = null;
  let queue = Promise.resolve();
  const fields: ((status: Status) => void)[] = [];
  // The state of a link does not have its loss: the input shows the one that was written last.
  const lossInput = h("input", { id: "loss", type: "text", inputmode: "decimal", autocomplete: "off", size: 6, placeholder: "as it is" });
  const forgetLoss = () => {
    lossInput.value = "";
  };

  /**
   * Runs changes after those before them, so that each step starts from the state after the last
   * one.
   */
  const act = (result: ReturnType<typeof resultOf>, changes: (status: Status) => readonly Change[]) => {
    queue = queue.then(() =>
      result.run(async () => {
        const status = actions.status();
        if (status === null) throw new Error("no link is shown");
        await actions.change(changes(status));
        return "changed";
      }),
    );
  };
  const one = (parameters: string): Change[] => [{ direction: chosen, parameters }];

  /** An input with a unit and steps. `value` is in the smallest unit. */
  const amount = (
    id: string,
    title: string,
    units: readonly [string, number][],
    value: (way: WayStatus) => number | null,
    parameters: (value: number) => string,
    step: (status: Status, sign: 1 | -1) => readonly Change[],
    nothing: (status: Status) => string,
  ) => {
    const result = resultOf();
    const input = h("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", size: 6 });
    const unit = h("select", { id: `${id}-unit`, "aria-label": `unit of the ${title.toLowerCase()}` }, ...units.map(([name], place) => h("option", { value: place }, name)));
    let before: number | null | undefined;
    const size = () => units[Number(unit.value)]?.[1] ?? 1;
    const write = (now: number | null) => {
      input.value = now === null ? "" : String(+(now / size()).toPrecision(6));
    };
    input.addEventListener("change", () => {
      const written = understood(input.value);
      act(result, () => {
        before = undefined;
        if (written === null) throw new Error(`“${input.value}” is no number`);
        return one(parameters(written * size()));
      });
    });
    unit.addEventListener("change", () => write(last === null ? null : common(last, chosen, value)));
    fields.push((status) => {
      const now = common(status, chosen, value);
      input.placeholder = now === null ? nothing(status) : "";
      if (now === before || document.activeElement === input) return;
      before = now;
      const greatest = Math.max(...directions(chosen).map((direction) => value(status[direction]) ?? 0));
      if (greatest > 0) unit.value = String(unitFor(units, greatest));
      write(now);
    });
    const stepper = (sign: 1 | -1, text: string, what: string) =>
      h("button", { type: "button", "aria-label": what, title: what, onclick: () => act(result, (status) => step(status, sign)) }, text);
    return control(
      h("label", { for: id }, title),
      h("div", { class: "amount" }, stepper(-1, "−", `less ${title.toLowerCase()}`), input, unit, stepper(1, "+", `more ${title.toLowerCase()}`)),
      result.element,
    );
  };

  const rates = amount(
    "rate",
    "Rate",
    RATES,
    (way) => way.rate,
    rate,
    (status, sign) => {
      const changes = faster(status, chosen, STEP.rate ** sign);
      if (changes.length === 0) throw new Error("this direction has no constant rate: write one");
      return changes;
    },
    (status) => (common(status, chosen, ({ rate }) => (rate === null ? 0 : 1)) === 0 ? "none" : "differs"),
  );
  const delays = amount(
    "delay",
    "Delay",
    DELAYS,
    (way) => way.delay_ns / 1e3,
    delay,
    (status, sign) => later(status, chosen, sign * STEP.delay),
    () => "differs",
  );
  const losses = () => {
    const result = resultOf();
    const input = lossInput;
    const set = (percent: number | null, why: string) =>
      act(result, () => {
        if (percent === null) throw new Error(why);
        input.value = String(+Math.min(Math.max(percent, 0), 100).toPrecision(6));
        return one(loss(percent));
      });
    const step = (sign: 1 | -1) => {
      const now = understood(input.value);
      set(now === null ? null : now + sign * STEP.loss, "the present loss is unknown: write one first");
    };
    input.addEventListener("change", () => set(understood(input.value), `“${input.value}” is no number`));
    const stepper = (sign: 1 | -1, text: string, what: string) =>
      h("button", { type: "button", "aria-label": what, title: what, onclick: () => step(sign) }, text);
    return control(
      h("label", { for: "loss" }, "Loss"),
      h("div", { class: "amount" }, stepper(-1, "−", "less loss"), input, h("span", {}, "%"), stepper(1, "+", "more loss")),
      result.element,
    );
  };
  const outages = () => {
    const result = resultOf();
    const button = (length: string) => h("button", { type: "button", onclick: () => act(result, () => one(`outage=now+${length}s`)) }, `${length} s`);
    return control(h("span", { id: "outage-title" }, "Outage"), h("div", { class: "amount", role: "group", "aria-labelledby": "outage-title" }, button("1"), button("5")), result.element);
  };
  const free = () => {
    const result = resultOf();
    const input = h("input", { id: "parameters", type: "text", autocomplete: "off", spellcheck: "false", placeholder: "queue=50p,jitter=5ms" });
    const send = () =>
      act(result, () => {
        const text = input.value.trim();
        if (text === "") throw new Error("write parameters first, such as rate=2mbit,delay=40ms");
        forgetLoss();
        return one(text);
      });
    input.addEventListener("keydown", (event) => event.key === "Enter" && send());
    return control(
      h("label", { for: "parameters", title: "as for lasthop link set" }, "Parameters"),
      h("div", { class: "amount" }, input, h("button", { type: "button", onclick: send }, "Set")),
      result.element,
    );
  };
  /** A list of profiles, which is empty until they are known. */
  const list = (id: string, title: string, parameter: string, verb: string) => {
    const result = resultOf();
    const place = h("div", { class: "amount" });
    let names: readonly string[] = [];
    let picked = -1;
    const send = () =>
      act(result, () => {
        const name = names[picked];
        if (name === undefined) throw new Error("choose a profile first");
        forgetLoss();
        return one(`${parameter}=${name}`);
      });
    const offer = (profiles: readonly Profile[]) => {
      names = profiles.map(({ name }) => name);
      const options = profiles.map(({ name, title }) => (title === "" ? name : `${name}: ${title}`));
      const choice = select(id, title, options, -1, (place) => (picked = place), "choose …");
      const input = choice.querySelector("select");
      place.replaceChildren(...(input === null ? [] : [input]), h("button", { type: "button", onclick: send }, verb));
    };
    offer([]);
    return { element: control(h("label", { for: id }, title), place, result.element), offer };
  };
  const profiles = list("profile", "Link profile", "profile", "Switch");
  const errors = list("losses", "Loss profile", "loss", "Set");

  const everything = h(
    "fieldset",
    { class: "grid", disabled: true },
    h("legend", { class: "hidden" }, "Change the link"),
    rates,
    delays,
    losses(),
    outages(),
    profiles.element,
    errors.element,
    free(),
  );
  const ways = radios("direction", "Change", CHOICES, 0, (place) => {
    chosen = CHOICES[place] ?? "both";
    forgetLoss();
    if (last !== null) show(last);
  });
  const show = (status: Status | null) => {
    last = status;
    everything.disabled = status === null;
    if (status !== null) for (const field of fields) field(status);
  };
  const element = h(
    "form",
    { class: "panel", "aria-label": "Change the link", onsubmit: (event) => event.preventDefault() },
    ways,
    everything,
  );
  const offer = (all: readonly Profile[]) => {
    profiles.offer(all.filter(({ kind }) => kind === "link"));
    errors.offer(all.filter(({ kind }) => kind === "loss"));
  };
  return { element, offer, show };
}

function control(label: HTMLElement, inputs: HTMLElement, result: HTMLElement): HTMLElement {
  return h("div", { class: "control" }, label, inputs, result);
}
