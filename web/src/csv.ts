// Tables for other programs (RFC 4180).

export type Field = string | number | null | undefined;

/** One field; quoted where it has to be. */
function field(value: Field): string {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A table with its heading. */
export function csv(heading: readonly string[], rows: readonly (readonly Field[])[]): string {
  return [heading, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}
