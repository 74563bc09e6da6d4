// Tables on the page, and the same as a file.

import { csv, type Field } from "../csv";
import { h } from "../dom";

export interface Column<Row> {
  /** Heading, with the unit. */
  title: string;
  /** Text on the page. */
  text: (row: Row) => Node | string;
  /** What the file holds: whole numbers and words; by default the text. Nothing for `null`. */
  value?: (row: Row) => Field;
  /** Whether to align numbers to the right. */
  numeric?: boolean;
  /** Whether the column is only in the file. */
  hidden?: boolean;
}

/** Rows that are in the page at first; more would make it slow, and nobody reads them. */
const ROWS = 200;

/** A table under its name, with a link that saves it as CSV. */
export function table<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): HTMLElement {
  const seen = columns.filter(({ hidden }) => hidden !== true);
  const line = (row: Row) =>
    h("tr", {}, ...seen.map((column) => h("td", column.numeric === true ? { class: "number" } : {}, column.text(row))));
  const body = h("tbody", {}, ...rows.slice(0, ROWS).map(line));
  const heading = seen.map(({ title, numeric }) => h("th", { scope: "col", ...(numeric === true && { class: "number" }) }, title));
  const more = h("button", { type: "button" }, `Show all ${rows.length} rows`);
  more.addEventListener("click", () => {
    body.append(...rows.slice(ROWS).map(line));
    more.remove();
  });
  return h(
    "div",
    { class: "table", "data-name": name },
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, h("table", {}, h("thead", {}, h("tr", {}, ...heading)), body)),
    h("p", { class: "below" }, rows.length > ROWS && more, " ", link(name, columns, rows)),
  );
}

function link<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): HTMLElement {
  const value = (column: Column<Row>, row: Row): Field => {
    if (column.value !== undefined) return column.value(row);
    const text = column.text(row);
    return typeof text === "string" ? text : text.textContent;
  };
  const text = csv(
    columns.map(({ title }) => title),
    rows.map((row) => columns.map((column) => value(column, row))),
  );
  return h("a", { href: `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`, download: `${name}.csv` }, "Save as CSV");
}
