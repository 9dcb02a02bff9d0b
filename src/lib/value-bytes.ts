/** Values of which there are very many, read in their bytes without a text of each. */

/** A whole number of decimal digits, from `start` to `end`; NaN where there is anything else. */
export function numberInBytes(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end) return NaN;
  let number = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** A time as `timestamp` writes it, in milliseconds since 1970; NaN where there is none. */
export function timeInBytes(bytes: Uint8Array, start: number, end: number): number {
  if (end - start !== timestampBytes) return NaN;
  const part = (at: number, length: number): number => numberInBytes(bytes, start + at, start + at + length);
  return Date.UTC(part(0, 4), part(5, 2) - 1, part(8, 2), part(11, 2), part(14, 2), part(17, 2));
}

const timestampBytes = "1970-01-01T00:00:00Z".length;
