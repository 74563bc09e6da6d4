// A ring buffer of rows of numbers, of a fixed size. Pure.

/** A column's values, `null` for one that is unknown. */
export type Values = (number | null)[];

/** The last `size` rows; the oldest one makes room for a new one. */
export class Ring<Column extends string> {
  readonly #size: number;
  readonly #columns: Readonly<Record<Column, Float64Array>>;
  #length = 0;
  /** Place of the next row. */
  #next = 0;

  constructor(columns: readonly Column[], size: number) {
    this.#size = size;
    const all = columns.map((column) => [column, new Float64Array(size)]);
    this.#columns = Object.fromEntries(all) as Record<Column, Float64Array>;
  }

  /** Number of rows. */
  get length(): number {
    return this.#length;
  }

  add(row: Readonly<Record<Column, number | null>>): void {
    for (const [column, values] of Object.entries(this.#columns) as [Column, Float64Array][]) {
      values[this.#next] = row[column] ?? Number.NaN;
    }
    this.#next = (this.#next + 1) % this.#size;
    this.#length = Math.min(this.#length + 1, this.#size);
  }

  /** A value; row 0 is the oldest. */
  value(column: Column, row: number): number | null {
    const start = this.#next - this.#length + this.#size;
    const value = this.#columns[column][(start + row) % this.#size] ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  /** The first row whose value is at least `value`, in a column whose values grow. */
  first(column: Column, value: number): number {
    let [low, high] = [0, this.#length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.value(column, middle) ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Copies a column from a row on into `values`, which is used again instead of a new array. */
  copy(column: Column, from: number, values: Values): void {
    values.length = Math.max(this.#length - from, 0);
    for (let row = from; row < this.#length; row++) values[row - from] = this.value(column, row);
  }

  clear(): void {
    this.#length = 0;
    this.#next = 0;
  }
}
