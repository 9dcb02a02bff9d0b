/** Texts as code points, which the language counts, on top of UTF-16. */

const pair = /[\ud800-\udbff][\udc00-\udfff]/;

/** Whether a character takes two units. */
export function hasPairs(text: string): boolean {
  return pair.test(text);
}

/** Returns the code points; undefined if each is one unit, so that offsets are equal. */
export function pointsOf(text: string): readonly string[] | undefined {
  return hasPairs(text) ? Array.from(text) : undefined;
}

/** Returns the part from `start` to `end` in code points; undefined if they are out of range. */
export function sliceText(text: string, start: number, end: number): string {
  const points = pointsOf(text);
  return points ? points.slice(start, end).join("") : text.slice(start, end);
}

export function countPoints(text: string): number {
  return pointsOf(text)?.length ?? text.length;
}

/** Converts a code point index to a UTF-16 offset. */
export function unitOffset(text: string, point: number): number {
  return hasPairs(text) ? Array.from(text).slice(0, point).join("").length : point;
}

/** Number of code points before a UTF-16 offset. */
export function pointOffset(text: string, unit: number): number {
  return hasPairs(text) ? Array.from(text.slice(0, unit)).length : unit;
}

/** Trims white space as Unicode defines it, which differs from JavaScript's trim. */
export function trimText(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

export function isSpace(unit: number): boolean {
  return (
    unit === 0x20 ||
    (unit >= 0x09 && unit <= 0x0d) ||
    unit === 0x85 ||
    unit === 0xa0 ||
    unit === 0x16_80 ||
    (unit >= 0x20_00 && unit <= 0x20_0a) ||
    unit === 0x20_28 ||
    unit === 0x20_29 ||
    unit === 0x20_2f ||
    unit === 0x20_5f ||
    unit === 0x30_00
  );
}
