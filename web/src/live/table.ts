// The table of flows, or of devices. Its rows are made once and written again and again.

import { h } from "../dom";
import { radios } from "../inputs";
import { fixed, quantity } from "../units";
import { write } from "./chart";
import { devices, flows, type Row, ROWS } from "./flows";
import type { History } from "./history";

interface Column {
  title: string;
  text: (row: Row) => string;
}

const FLOW: Column = { title: "Flow", text: ({ protocol, inside, outside }) => `${protocol} ${inside} ↔ ${outside}` };
const DEVICE: Column = { title: "Device", text: ({ inside, flows }) => `${inside} (${flows === 1 ? "1 flow" : `${flows} flows`})` };
const NUMBERS: readonly Column[] = [
  { title: "Up", text: ({ up }) => quantity(up, "bit/s") },
  { title: "Down", text: ({ down }) => quantity(down, "bit/s") },
  { title: "Total", text: ({ bytes }) => quantity(bytes, "bytes") },
  { title: "Packets", text: ({ packets }) => fixed(packets, 0) },
  { title: "Lost", text: ({ lost }) => fixed(lost, 0) },
];

export interface FlowTable {
  element: HTMLElement;
  write(history: History): void;
}

export function flowTable(): FlowTable {
  let perDevice = false;
  let last: History | null = null;
  const first = h("th", { scope: "col" });
  const body = h("tbody");
  const rest = h("p", { class: "below" });
  const lines: { line: HTMLElement; cells: HTMLElement[] }[] = [];
  const added = () => {
    const cells = [h("td"), ...NUMBERS.map(() => h("td", { class: "number" }))];
    const line = h("tr", {}, ...cells);
    body.append(line);
    lines.push({ line, cells });
  };
  const show = (history: History) => {
    last = history;
    const [before, now] = [history.oldest, history.newest];
    if (before === null || now === null) return;
    const all = flows(before, now);
    const rows = perDevice ? devices(all) : all;
    const columns = [perDevice ? DEVICE : FLOW, ...NUMBERS];
    write(first, columns[0]?.title ?? "");
    while (lines.length < Math.min(rows.length, ROWS)) added();
    for (const [place, { line, cells }] of lines.entries()) {
      const row = rows[place];
      line.hidden = row === undefined;
      if (row !== undefined) for (const [column, cell] of cells.entries()) write(cell, columns[column]?.text(row) ?? "");
    }
    const more = rows.length - ROWS;
    write(rest, rows.length === 0 ? "No packet of a flow has been seen since this page was opened." : more > 0 ? `${more} more are not shown.` : "");
  };
  const choose = (place: number) => {
    perDevice = place === 1;
    if (last !== null) show(last);
  };
  const heading = h("tr", {}, first, ...NUMBERS.map(({ title }) => h("th", { scope: "col", class: "number" }, title)));
  const element = h(
    "section",
    { id: "flows", "aria-labelledby": "flows-title" },
    h("h2", { id: "flows-title" }, "Flows"),
    radios("rows", "Rows", ["flows", "devices"], 0, choose),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Flows" }, h("table", {}, h("thead", {}, heading), body)),
    rest,
  );
  return { element, write: show };
}
