// Verdicts beside true causes, and counts of lost segments beside the true ones, in numbers.

import { type Choice, levelName } from "../choice";
import type { LossesOfCause, LossGroup, Losses, Page, Share } from "../data";
import { differenceName, groupsOf, type Sum } from "../figures/losses";
import { fixed, number } from "../units";
import { CAUSE_WORDS } from "../words";
import { type Column, table } from "./table";

interface Row extends LossesOfCause {
  group: LossGroup;
}

/**
 * What a group is of: its cell or level, and its congestion control unless a level says it already.
 */
function keys<Of>(page: Page, sum: Sum, rows: readonly Of[], group: (row: Of) => LossGroup): Column<Of>[] {
  const [control, ...levels] = allKeys(page, sum, group);
  const said = levels.some(({ text }) => rows.every((row) => text(row) === group(row).congestion_control));
  return control === undefined || said ? levels : [...levels, control];
}

/** The congestion control first. */
function allKeys<Of>(page: Page, sum: Sum, group: (row: Of) => LossGroup): Column<Of>[] {
  const control: Column<Of> = { title: "Congestion control of the sender", text: (row) => group(row).congestion_control };
  const level = (factor: number, place: (group: LossGroup) => number): Column<Of> => ({
    title: page.factors[factor]?.title ?? "",
    text: (row) => levelName(page.factors, factor, place(group(row))),
  });
  if (sum === "together") return [control];
  if (sum !== "cells") return [control, level(sum, ({ at }) => at ?? -1)];
  const cell = ({ at }: LossGroup) => page.cells[at ?? -1];
  return [control, ...page.factors.map((_, factor) => level(factor, (group) => cell(group)?.levels[factor] ?? -1))];
}

function count<Of>(title: string, of: (row: Of) => number): Column<Of> {
  return { title, numeric: true, text: (row) => number(of(row), 12), value: of };
}

/** How many, which share, and its interval. */
function shares<Of>(title: string, of: (row: Of) => Share | null | undefined): Column<Of>[] {
  const percent = (value: number) => fixed(value * 100, 1);
  const part = (heading: string, text: (share: Share) => string, value: (share: Share) => string | number | null): Column<Of> => ({
    title: heading,
    numeric: true,
    text: (row) => {
      const share = of(row);
      return share === null || share === undefined ? "–" : text(share);
    },
    value: (row) => {
      const share = of(row);
      return share === null || share === undefined ? null : value(share);
    },
  });
  return [
    part(title, ({ of, all }) => (all === 0 ? "–" : number(of, 12)), ({ of }) => of),
    part("%", ({ value }) => (value === null ? "–" : percent(value)), ({ value }) => value && value * 100),
    part(
      "95 % (Wilson)",
      ({ interval }) => (interval === null ? "–" : `${percent(interval.low)} to ${percent(interval.high)}`),
      ({ interval }) => interval && `${interval.low * 100} ${interval.high * 100}`,
    ),
  ];
}

/** The confusion matrix of each group, one row per cause. */
export function verdictTable(page: Page, losses: Losses, choice: Choice, sum: Sum): HTMLElement | null {
  const rows: Row[] = groupsOf(page, losses, choice, sum).flatMap((group) => group.causes.map((row) => ({ ...row, group })));
  if (rows.length === 0) return null;
  const columns: Column<Row>[] = [
    ...keys<Row>(page, sum, rows, ({ group }) => group),
    { title: "True cause", text: ({ cause }) => CAUSE_WORDS[cause].replaceAll(" ", "\u00a0"), value: ({ cause }) => cause },
    ...shares<Row>("Taken for wireless", ({ wireless }) => wireless),
    ...shares<Row>("Taken for congestion", ({ congestion }) => congestion),
    count("Recoveries without a detector's verdict", ({ unjudged }) => unjudged),
    count("Timeouts", ({ timeouts }) => timeouts),
    count("Reductions", ({ reductions }) => reductions),
  ];
  return table("losses-taken-for", columns, rows);
}

/** Accuracy of each group's senders, one row per group. */
export function countTable(page: Page, losses: Losses, choice: Choice, sum: Sum): HTMLElement | null {
  const rows = groupsOf(page, losses, choice, sum).filter(({ counts }) => counts !== null);
  if (rows.length === 0) return null;
  const columns: Column<LossGroup>[] = [
    ...keys<LossGroup>(page, sum, rows, (group) => group),
    count("Recoveries counted", ({ counts }) => counts?.right.all ?? 0),
    ...shares<LossGroup>("Right", ({ counts }) => counts?.right),
    { title: "Mean difference", numeric: true, text: ({ counts }) => fixed(counts?.mean, 2), value: ({ counts }) => counts?.mean },
    { title: "Least", numeric: true, text: ({ counts }) => fixed(counts?.least, 0), value: ({ counts }) => counts?.least },
    { title: "Greatest", numeric: true, text: ({ counts }) => fixed(counts?.greatest, 0), value: ({ counts }) => counts?.greatest },
    // The figure has them; a file should, too.
    ...losses.differences.map((_, place): Column<LossGroup> => ({
      ...count<LossGroup>(`Difference ${differenceName(losses.differences, place)}`, ({ counts }) => counts?.bins[place] ?? 0),
      hidden: true,
    })),
  ];
  return table("losses-counted", columns, rows);
}
