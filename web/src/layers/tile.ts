// Converts texts of tiles to points; crates/report/src/layers/tile.rs defines the packing.

/** Points in order of time: nanoseconds, and bytes without the graph's offset. */
export interface Points {
  time: Float64Array;
  bytes: Float64Array;
}

/** The bytes that a text stands for. */
export async function inflated(text: string): Promise<Uint8Array> {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) packed[place] = letters.charCodeAt(place);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** So many points. Numbers are exact up to 2^53, which are 104 days of nanoseconds. */
export function unpacked(bytes: Uint8Array, count: number, step: number, unit: number): Points {
  let next = 0;
  const column = (scale: number): Float64Array => {
    const values = new Float64Array(count);
    let value = 0;
    for (let place = 0; place < count; place++) {
      let [rest, weight, byte] = [0, 1, 0x80];
      while (byte >= 0x80) {
        byte = bytes[next++] ?? 0;
        rest += (byte & 0x7f) * weight;
        weight *= 128;
      }
      // The sign is in the lowest bit.
      value += rest % 2 === 1 ? -(rest + 1) / 2 : rest / 2;
      values[place] = value * scale;
    }
    return values;
  };
  return { time: column(step), bytes: column(unit) };
}

/** The place of the first time that is not before `time`. */
export function firstFrom(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
