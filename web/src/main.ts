// Builds the page: the description of the campaign, the reader's controls, and the figures and
// tables that follow them.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { type Choice, initial } from "./choice";
import { type Page, read } from "./data";
import { h } from "./dom";
import { allFigures } from "./figures/all";
import { boxes } from "./figures/boxes";
import { type FigureParts, frame } from "./figures/frame";
import { dotsOf, scatter } from "./figures/scatter";
import { select } from "./inputs";
import { about, verdicts } from "./sections/about";
import { controls } from "./sections/controls";
import { losses } from "./sections/losses";
import { sequences } from "./sections/sequences";
import { cellTable } from "./tables/cells";
import { factorialTables } from "./tables/factorial";
import { linkTable } from "./tables/links";
import { literatureTable } from "./tables/literature";
import { measureTable } from "./tables/measures";
import { precisionTable } from "./tables/precision";
import { testTable } from "./tables/tests";
import { whose } from "./words";

/** A part of the page that follows the reader's choice: what it shows, or nothing to show. */
interface Section {
  id: string;
  title: string;
  draw: (choice: Choice, width: number) => (Node | null)[];
  /** Whether the width matters alone, not the choice. */
  still?: boolean;
  /** What it says when there is nothing to show. */
  nothing: string;
}

/** A single run has no distribution and no comparison. */
function sectionsOfOne(page: Page): Section[] {
  const shown = sections(page).filter(({ id }) => ["losses", "sequences", "links"].includes(id));
  return [{ id: "measured", title: "Measured", draw: () => [measureTable(page)], nothing: "Nothing was measured." }, ...shown];
}

function sections(page: Page): Section[] {
  let dots: number | null | undefined;
  const graphs = sequences(page);
  const events = page.losses === null ? null : losses(page, page.losses);
  return [
    {
      id: "boxes",
      title: "Distributions",
      draw: (choice, width) => [framed(boxes(page, choice, width))],
      nothing: "No run that is shown has a value for this metric.",
    },
    {
      id: "scatter",
      title: "Goodput against retransmissions",
      draw: (choice, width) => {
        const workload = page.measures[choice.measure]?.workload;
        const of = page.scatters.find(({ y }) => page.measures[y]?.workload === workload) ?? page.scatters[0];
        const factor = dots === undefined ? dotsOf(choice) : dots;
        if (of === undefined) return [null];
        const redraw = (place: number) => {
          dots = place;
          shown.replaceChildren(...[framed(scatter(page, of, choice, place, width))].filter((node) => node !== null));
        };
        const shown = h("div", {}, framed(scatter(page, of, choice, factor, width)));
        const titles = page.factors.map(({ title }) => title);
        return [titles.length > 1 ? h("div", { class: "row" }, select("dots", "Colour and symbol", titles, factor ?? 0, redraw)) : null, shown];
      },
      nothing: "No run has both goodput and retransmissions.",
    },
    { id: "cells", title: "Cells", draw: (choice) => [cellTable(page, choice)], nothing: "Nothing was measured." },
    {
      id: "tests",
      title: "Differences between levels",
      draw: (choice) => {
        const tables = page.factors.map((factor, place) => {
          const tests = testTable(page, choice, place);
          return tests && h("div", {}, h("h3", {}, factor.title), tests);
        });
        const method =
          "Mann–Whitney tests between cells that differ in one factor only, corrected by Holm's method for all pairs of that " +
          "factor. A12 is the probability that a run of the first level has the higher value; 0.5 means no difference.";
        const measure = page.measures[choice.measure];
        const of = measure === undefined ? "" : `${measure.title}. ${whose(measure)} `;
        return tables.some((part) => part !== null) ? [h("p", {}, of + method), ...tables] : [];
      },
      nothing: "No factor has two levels to compare.",
    },
    ...(page.precision === null
      ? []
      : [{ id: "precision", title: "Repeated until precise", draw: (choice: Choice) => precisionTable(page, choice), nothing: "" }]),
    ...(page.factorial.length === 0
      ? []
      : [{ id: "factorial", title: "Factorial analysis", draw: (choice: Choice) => factorialTables(page, choice), nothing: "" }]),
    { id: "literature", title: "Comparison with the literature", still: true, draw: () => [literatureTable(page)], nothing: "The plan names no published figures." },
    ...(events === null ? [] : [{ id: "losses", title: "How senders classified losses", draw: events, nothing: "" }]),
    { id: "sequences", title: "Time-sequence plots and throughput", still: true, draw: (_choice, width) => graphs(width), nothing: "" },
    { id: "links", title: "Links", draw: (choice) => [linkTable(page, choice)], nothing: "No counters of links were recorded." },
  ];
}

function framed(parts: FigureParts | null): HTMLElement | null {
  return parts && frame(parts);
}

/**
 * With the fragment `#figures` the page is all of its figures as files, in their text:
 * scripts/results/figures reads them.
 */
function files(page: Page, root: HTMLElement): void {
  document.getElementById("data")?.remove();
  root.replaceChildren(...allFigures(page).map(({ name, text }) => h("pre", { "data-file": name }, text)));
}

function build(page: Page, root: HTMLElement): void {
  let choice = initial(page);
  const room = () => Math.max((bodies[0]?.body ?? root).clientWidth, 280);
  const single = page.runs.cell.length === 1 && page.factors.length === 0;
  const bodies = (single ? sectionsOfOne(page) : sections(page)).map((section) => ({ section, body: h("div", {}) }));
  const draw = (all: boolean) => {
    const width = room();
    for (const { section, body } of bodies) {
      if (section.still === true && !all) continue;
      const parts = section.draw(choice, width).filter((part) => part !== null);
      body.replaceChildren(...(parts.length > 0 ? parts : [h("p", {}, section.nothing)]));
    }
  };
  const panel = controls(page, choice, (next) => {
    choice = next;
    draw(false);
  });
  const section = (id: string, title: string, ...children: Node[]) =>
    h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
  const contents = [["verdicts", "Runs"], ...bodies.map(({ section: { id, title } }) => [id, title])];
  root.replaceChildren(
    h("section", { id: "about" }, ...about(page)),
    h("nav", { "aria-label": "Contents" }, ...contents.map(([id, title]) => h("a", { href: `#${id}` }, title ?? ""))),
    section("verdicts", "Runs", ...verdicts(page)),
    ...(page.measures.length > 0 && !single ? [panel] : []),
    ...bodies.map(({ section: { id, title }, body }) => section(id, title, body)),
  );
  draw(true);
  let width = room();
  new ResizeObserver(() => {
    if (Math.abs(room() - width) < 8) return;
    width = room();
    draw(true);
  }).observe(root);
}

const root = document.getElementById("report") ?? document.body;
try {
  const page = read(document);
  if (location.hash === "#figures") files(page, root);
  else build(page, root);
} catch (error) {
  root.replaceChildren(h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
  throw error;
}
