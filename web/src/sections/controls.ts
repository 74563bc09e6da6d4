// What the reader can choose, once for all figures.

import { type Choice, hasOverloaded } from "../choice";
import type { Page } from "../data";
import { h } from "../dom";
import { box, select } from "../inputs";

/** The controls; `changed` is called with every new choice. */
export function controls(page: Page, first: Choice, changed: (choice: Choice) => void): HTMLElement {
  let choice = first;
  const set = (part: Partial<Choice>) => {
    choice = { ...choice, ...part };
    changed(choice);
  };
  const several = new Set(page.measures.map(({ workload }) => workload)).size > 1;
  const measures = page.measures.map(({ workload, background, title }) =>
    several ? `${workload}${background ? " (background)" : ""}: ${title}` : title,
  );
  const factors = page.factors.map(({ title }) => title);
  const none = -1;
  const parts: (Node | false)[] = [
    select("metric", "Metric", measures, choice.measure, (measure) => set({ measure })),
    factors.length > 0 && select("axis", "Horizontal axis", factors, choice.x ?? 0, (x) => set({ x })),
    factors.length > 0 &&
      select("colour", "Colour", factors, choice.colour ?? none, (place) => set({ colour: place === none ? null : place }), "none"),
    hasOverloaded(page) && box("overloaded", "include overloaded runs", choice.overloaded, (overloaded) => set({ overloaded })),
  ];
  const filters = page.factors.flatMap((factor, place) => {
    if (factor.levels.length < 2) return [];
    const toggle = (level: number) => (on: boolean) => {
      const hidden = new Set(choice.hidden[place]);
      if (on) hidden.delete(level);
      else hidden.add(level);
      set({ hidden: choice.hidden.map((known, other) => (other === place ? hidden : known)) });
    };
    const boxes = factor.levels.map((name, level) => box(`level-${place}-${level}`, name, true, toggle(level)));
    return [h("fieldset", {}, h("legend", {}, factor.title), ...boxes)];
  });
  return h(
    "form",
    { class: "controls", "aria-label": "What the figures show", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "row" }, ...parts),
    filters.length > 0 && h("details", {}, h("summary", {}, "Levels"), h("div", { class: "row" }, ...filters)),
  );
}
