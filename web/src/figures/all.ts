// Every figure of a page as a file, under the name of its save button and in the state in which the
// page opens.

import { initial } from "../choice";
import type { Page } from "../data";
import { sums } from "../sections/losses";
import { below } from "../sequence/charts";
import { chart, names, timeSequence } from "../sequence/files";
import { unpack, whole } from "../sequence/unpack";
import { literatureFile } from "../tables/literature";
import { boxes } from "./boxes";
import { type FigureParts, saved } from "./frame";
import type { Saved } from "./paper";
import { countedRight, takenFor } from "./losses";
import { dotsOf, scatter } from "./scatter";

/**
 * Width of box plots and scatter plots in pixels, the same whatever the window has: a page's main
 * column.
 */
const WIDTH = 1080;

/** The files, with names of their own. */
export function allFigures(page: Page): Saved[] {
  const choice = initial(page);
  // A single run has no distribution and no comparison.
  const single = page.runs.cell.length === 1 && page.factors.length === 0;
  const figures: (FigureParts | null)[] = single
    ? []
    : [
        ...page.measures.map((_, measure) => boxes(page, { ...choice, measure }, WIDTH)),
        ...page.scatters.map((of) => scatter(page, of, choice, dotsOf(choice), WIDTH)),
      ];
  return distinct([
    ...[...figures, ...losses(page)].filter((parts) => parts !== null).map(saved),
    ...(page.literature.length > 0 ? [literatureFile(page)] : []),
    ...sequences(page),
  ]);
}

/** Classification of losses, for every grouping. */
function losses(page: Page): (FigureParts | null)[] {
  const [of, choice] = [page.losses, initial(page)];
  if (of === null) return [];
  return sums(page).flatMap(([sum]) => [takenFor(page, of, choice, sum, WIDTH), countedRight(page, of, choice, sum, WIDTH)]);
}

/** The plots of each run, from its first packet to its last one. */
function sequences(page: Page): Saved[] {
  const all = names(page);
  return page.sequences.plots.flatMap((packed, place) => {
    const [sequence, name] = [unpack(packed), all[place]];
    if (name === undefined) return [];
    const [from, to] = whole(sequence.end);
    return [timeSequence(sequence, name, from, to), ...below(sequence).map((part) => chart(part, name, from, to))];
  });
}

/** Makes names unique by appending numbers. */
export function distinct(files: Saved[]): Saved[] {
  const taken = new Set<string>();
  return files.map(({ name, text }) => {
    let free = name;
    for (let number = 2; taken.has(free); number++) free = name.replace(/\.svg$/, `-${number}.svg`);
    taken.add(free);
    return { name: free, text };
  });
}
