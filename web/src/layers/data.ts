// Data that the page of a multi-layer view reads before any point; crates/report/src/layers/page.rs
// defines the same in Rust.

/** Version of this format; a change raises it in both languages. */
export const SCHEMA = 1;

export type Layer = "tcp-sender" | "tcp-receiver" | "link-sender" | "link-receiver" | "lost" | "sender-state";
export type Shape = "dots" | "crosses" | "steps" | "marks";

/** Points, first and last time (ns), lowest and highest value (units) of a tile. */
export type PackedTile = [count: number, from: number, to: number, low: number, high: number];

export interface PackedLevel {
  /** Drawings of this level and finer ones need it; null: all do. */
  level: number | null;
  /** Number of its first tile. */
  first: number;
  tiles: PackedTile[];
}

export interface PackedGraph {
  label: string;
  layer: Layer;
  shape: Shape;
  /** Bytes that are added to its values. */
  offset: number;
  points: number;
  /** Nanoseconds of a step of its packed times. */
  step_ns: number;
  /** Bytes of a unit of its packed values. */
  unit: number;
  levels: PackedLevel[];
}

export interface Regression {
  label: string;
  from_ns: number;
  to_ns: number;
  /** At `from_ns`, without the graph's offset. */
  bytes: number;
  /** Bytes a second. */
  slope: number;
}

export interface View {
  schema: number;
  title: string;
  notes: string[];
  regressions: Regression[];
  /** A cell is 2^ratio times as high in bytes as it is long in nanoseconds. */
  ratio: number;
  graphs: PackedGraph[];
}

/** Contents of the file. */
export function read(document: Document): View {
  const view = JSON.parse(document.getElementById("data")?.textContent ?? "null") as View | null;
  if (view?.schema !== SCHEMA) {
    throw new Error(`This page reads multi-layer data of version ${SCHEMA}, but its data has version ${view?.schema ?? "none"}. Write the file again.`);
  }
  return view;
}
