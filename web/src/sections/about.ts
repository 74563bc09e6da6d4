// The plan, the machine, and the runs that went wrong.

import type { Page, Trouble, Verdict } from "../data";
import { h } from "../dom";
import { type Column, table } from "../tables/table";
import { duration, instant } from "../units";

/** Title, description, facts, plan and links. */
export function about(page: Page): HTMLElement[] {
  const { about } = page;
  const paragraphs = about.description.split(/\n{2,}/).filter((text) => text.trim() !== "");
  const factors = page.factors.map(({ title, levels }) => `${title}: ${levels.join(", ")}`);
  const facts: [string, string | string[]][] = [
    ["Varied", factors],
    ["Runs", about.planned === 1 ? "" : `${page.runs.cell.length} of ${about.planned}: ${counted(page.cells.length, "cell")}, ${repetitions(page)} each`],
    ["Shard", about.shard],
    ["Started", about.started_ms === 0 ? "" : instant(about.started_ms)],
    ["Took", took(page)],
    ["Clock", about.clock_words],
    ["Kernel", about.kernel],
    ["Machine", about.machine],
    ["Seed", about.seed],
    ["lasthop", about.lasthop],
  ];
  const rows = facts.filter(([, value]) => value.length > 0).flatMap(([name, value]) => [
    h("dt", {}, name),
    ...(typeof value === "string" ? [value] : value).map((text) => h("dd", {}, text)),
  ]);
  return [
    h("header", {}, h("h1", {}, about.title), ...paragraphs.map((text) => h("p", {}, text))),
    h("dl", { class: "facts" }, ...rows),
    ...links(page),
    ...(about.plan_text === ""
      ? []
      : [h("details", {}, h("summary", {}, `The plan${about.plan_file === "" ? "" : ` (${about.plan_file})`}`), h("pre", {}, about.plan_text))]),
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** How often each cell is repeated. */
function repetitions({ about, precision }: Page): string {
  return precision === null || precision.least === precision.most
    ? counted(about.repetitions, "repetition")
    : `${precision.least} to ${counted(precision.most, "repetition")}`;
}

function took(page: Page): string {
  const { started_ms, ended_ms, clock } = page.about;
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  const runs = duration(sum(page.runs.seconds));
  if (page.about.planned === 1) return runs;
  const all = ended_ms === null ? "" : `${duration((ended_ms - started_ms) / 1000)}; `;
  return `${all}all runs ${runs}${clock === "virtual" ? " of virtual time" : ""}`;
}

function links(page: Page): HTMLElement[] {
  type Link = Page["about"]["links"][number];
  if (page.about.links.length === 0) return [];
  const label = (number: number) => page.cells.find((cell) => cell.number === number)?.label ?? String(number);
  const some = page.about.links.some(({ cells }) => cells.length > 0);
  const columns: Column<Link>[] = [
    { title: "Link", text: ({ name, direction }) => `${name} ${direction}` },
    { title: "Profile", text: ({ profile }) => profile },
  ];
  if (some) columns.push({ title: "In", text: ({ cells }) => (cells.length === 0 ? "all cells" : cells.map(label).join("; ")) });
  const list = table("link-profiles", columns, page.about.links);
  const open = page.about.links.length <= 6;
  return [h("details", open ? { open } : {}, h("summary", {}, "The links"), list)];
}

/** Number of runs by outcome, and a row for each run that did not go well. */
export function verdicts(page: Page): HTMLElement[] {
  const count = (verdict: Verdict) => page.runs.verdict.filter((one) => one === verdict).length;
  const missing = Math.max(0, page.about.planned - page.runs.cell.length);
  const tiles: [string, number, string][] = [
    ["good", count("good"), "good"],
    ["overloaded", count("overloaded"), "overloaded: the emulator fell behind"],
    ["failed", count("failed"), "failed"],
  ];
  const dropped = count("dropped-call");
  if (dropped > 0) tiles.push(["dropped", dropped, "dropped calls: the link layer disconnected"]);
  if (missing > 0) tiles.push(["missing", missing, "not run"]);
  const columns: Column<Trouble>[] = [
    { title: "Cell", text: ({ label }) => label },
    { title: "Repetition", numeric: true, text: ({ repetition }) => String(repetition), value: ({ repetition }) => repetition },
    { title: "Verdict", text: ({ verdict }) => verdict },
    {
      title: "Reasons",
      text: ({ reasons }) => (reasons.length === 1 ? (reasons[0] as string) : h("ul", {}, ...reasons.map((reason) => h("li", {}, reason)))),
      value: ({ reasons }) => reasons.join("; "),
    },
  ];
  return [
    h("div", { class: "tiles" }, ...tiles.map(([kind, number, text]) => h("div", { class: `tile ${kind}` }, h("strong", {}, String(number)), ` ${text}`))),
    ...(page.troubles.length > 0
      ? [
          h("p", {}, "Figures, tables and tests leave out runs that failed, were overloaded or had a dropped call. Overloaded runs can be included below."),
          table("troubles", columns, page.troubles),
        ]
      : []),
  ];
}
