// Classification of losses, per cell or summed as the reader chooses.

import type { Choice } from "../choice";
import type { Losses, Page } from "../data";
import { h } from "../dom";
import { type FigureParts, frame } from "../figures/frame";
import { countedRight, type Sum, takenFor } from "../figures/losses";
import { select } from "../inputs";
import { countTable, verdictTable } from "../tables/losses";

const ABOUT =
  "A loss event is a sender's entry into recovery, a retransmission timeout, or a reduction of the window without either. Its true cause is what links did to the packets " +
  "in flight. Its verdict is the sender's loss differentiation: wireless or congestion. Timeouts and reductions involve no detector and are counted separately.";

/** What can be summed over, with its name. */
export function sums(page: Page): [Sum, string][] {
  const factors = page.factors.flatMap(({ title, levels }, place): [Sum, string][] => (levels.length > 1 ? [[place, `all cells of each level: ${title}`]] : []));
  return page.cells.length > 1 ? [["cells", "none: each cell"], ...factors, ["together", "all cells"]] : [["cells", "none: each cell"]];
}

/** The section; what it returns draws it. What is summed over outlives that. */
export function losses(page: Page, of: Losses): (choice: Choice, width: number) => Node[] {
  const all = sums(page);
  let chosen = 0;
  const framed = (parts: FigureParts | null) => parts && frame(parts);
  const body = (choice: Choice, width: number) => {
    const sum = all[chosen]?.[0] ?? "cells";
    const matrix = verdictTable(page, of, choice, sum);
    const counts = countTable(page, of, choice, sum);
    const hidden = sum !== "cells" && choice.hidden.some((levels, factor) => factor !== sum && levels.size > 0);
    const parts = [
      hidden && h("p", { class: "hint" }, "The sums are over all cells, including those with hidden levels of other factors."),
      framed(takenFor(page, of, choice, sum, width)),
      matrix ?? h("p", {}, "No run that is shown has a loss event."),
      counts && h("h3", {}, "Lost segments as counted by senders"),
      framed(countedRight(page, of, choice, sum, width)),
      counts,
    ];
    return parts.filter((part) => part !== null && part !== false);
  };
  return (choice, width) => {
    const shown = h("div", {}, ...body(choice, width));
    const choose = (place: number) => {
      chosen = place;
      shown.replaceChildren(...body(choice, width));
    };
    const titles = all.map(([, title]) => title);
    return [h("p", {}, ABOUT), ...(all.length > 1 ? [h("div", { class: "row" }, select("losses-sum", "Summed over", titles, chosen, choose))] : []), shown];
  };
}
