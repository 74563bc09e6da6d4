// What every link did in every run.

import { type Choice, visible } from "../choice";
import type { Links, Page } from "../data";
import { number } from "../units";
import { type Column, table } from "./table";

/** The table of the visible cells' runs. */
export function linkTable(page: Page, choice: Choice): HTMLElement | null {
  const links = page.links;
  const seen = new Set(visible(page.cells, choice));
  const rows = links.run.map((_, row) => row).filter((row) => seen.has(page.runs.cell[links.run[row] ?? -1] ?? -1));
  if (rows.length === 0) return null;
  const run = (row: number) => links.run[row] ?? -1;
  const count = (title: string, of: keyof Links): Column<number> => {
    const value = (row: number) => (links[of] as number[])[row] ?? null;
    return { title, numeric: true, text: (row) => number(value(row), 12), value };
  };
  /** What hardly any link does is shown only where one did. */
  const rare = (title: string, of: keyof Links): Column<number> => ({
    ...count(title, of),
    hidden: rows.every((row) => (links[of] as number[])[row] === 0),
  });
  const delay = (title: string, of: "delay_ms" | "waiting_ms"): Column<number> => ({
    title: `${title} (ms)`,
    numeric: true,
    text: (row) => number(links[of][row], 3),
    value: (row) => links[of][row],
  });
  const columns: Column<number>[] = [
    { title: "Cell", text: (row) => page.cells[page.runs.cell[run(row)] ?? -1]?.label ?? "–" },
    { title: "Repetition", numeric: true, text: (row) => String(page.runs.repetition[run(row)] ?? "–") },
    { title: "Verdict", text: (row) => page.runs.verdict[run(row)] ?? "–" },
    { title: "Link", text: (row) => (links.way[row] ?? "–").replaceAll(" ", "\u00a0"), value: (row) => links.way[row] },
    count("Packets", "packets"),
    ...links.reasons.map((reason, place): Column<number> => {
      const value = (row: number) => links.lost[row]?.[place] ?? null;
      return { title: `Lost: ${reason}`, numeric: true, text: (row) => number(value(row), 12), value };
    }),
    rare("Damaged", "damaged"),
    rare("Duplicated", "duplicated"),
    rare("Re-ordered", "reordered"),
    count("Bytes", "bytes"),
    count("Bytes delivered", "delivered_bytes"),
    delay("Mean delay", "delay_ms"),
    delay("Mean wait in the queue", "waiting_ms"),
  ];
  return table("links", columns, rows);
}
