/** Bytes that almost follow a protocol: valid bytes with random changes. The same seed makes the same changes. */
import type { Random } from "./random.ts";

const odd = [0, 1, 9, 10, 13, 32, 34, 37, 44, 58, 59, 61, 127, 128, 192, 254, 255] as const;
const most = 64 * 1024;

/** Applies one to six changes to bytes: single bytes, runs, repeated slices, parts of other seeds, truncation. */
export function mutate(bytes: Buffer, others: readonly Buffer[], random: Random): Buffer {
  let changed: Buffer = Buffer.from(bytes);
  for (let count = 1 + random.below(6); count > 0; count -= 1) changed = change(changed, others, random);
  return changed.length > most ? changed.subarray(0, most) : changed;
}

function change(bytes: Buffer, others: readonly Buffer[], random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + random.below(40));
  const slice = bytes.subarray(at, end);
  const around = (...middle: readonly Uint8Array[]): Buffer =>
    Buffer.concat([bytes.subarray(0, at), ...middle, bytes.subarray(end)]);
  switch (random.below(7)) {
    case 0:
      return around(Buffer.from([random.pick(odd)]), slice.subarray(1));
    case 1:
      return around(Buffer.from([random.below(256)]), slice.subarray(1));
    case 2:
      return around();
    case 3:
      return around(...Array.from({ length: 2 + random.below(600) }, () => slice));
    case 4:
      return around(slice, random.pick(others).subarray(0, 200));
    case 5:
      return around(
        Buffer.alloc(1 + random.below(8000), random.pick(["%2e", "a", "..", "/", ",", ";", "=", "\t"])),
        slice,
      );
    default:
      return bytes.subarray(0, Math.max(1, at));
  }
}

/** Converts texts to bytes, as parts of a seed. */
export function seedsOf(...texts: readonly string[]): readonly Buffer[] {
  return texts.map((text) => Buffer.from(text, "latin1"));
}
