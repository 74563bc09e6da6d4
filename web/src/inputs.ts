// Inputs with their labels.

import { h } from "./dom";

/** A list to choose from; with `nothing`, also none of them. */
export function select(
  id: string,
  title: string,
  options: readonly string[],
  chosen: number,
  changed: (place: number) => void,
  nothing?: string,
): HTMLElement {
  const option = (text: string, place: number) => h("option", { value: place, selected: place === chosen }, text);
  const list = h(
    "select",
    { id, onchange: (event) => changed(Number((event.currentTarget as HTMLSelectElement).value)) },
    ...(nothing === undefined ? [] : [option(nothing, -1)]),
    ...options.map(option),
  );
  return h("label", { for: id }, `${title} `, list);
}

/** A box to tick. */
export function box(id: string, title: string, on: boolean, changed: (on: boolean) => void): HTMLElement {
  const input = h("input", { type: "checkbox", id, checked: on, onchange: (event) => changed((event.currentTarget as HTMLInputElement).checked) });
  return h("label", { for: id, class: "box" }, input, ` ${title}`);
}

/** Options of which one is always chosen. */
export function radios(name: string, title: string, options: readonly string[], chosen: number, changed: (place: number) => void): HTMLElement {
  const radio = (text: string, place: number) => {
    const id = `${name}-${place}`;
    const input = h("input", { type: "radio", name, id, value: place, checked: place === chosen, onchange: () => changed(place) });
    return h("label", { for: id, class: "box" }, input, ` ${text}`);
  };
  return h("fieldset", {}, h("legend", {}, title), ...options.map(radio));
}
