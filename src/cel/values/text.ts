/** Texts as code points, which is how the language counts, with UTF-16 underneath. */

const pair = /[\ud800-\udbff][\udc00-\udfff]/;

/** Whether some character takes two units. */
export function hasPairs(text: string): boolean {
  return pair.test(text);
}

/** Code points; `undefined` when each is one unit, so that offsets are the same. */
export function pointsOf(text: string): readonly string[] | undefined {
  return hasPairs(text) ? Array.from(text) : undefined;
}

/** Of a text from `start` to `end`, in code points; undefined when they are not in it. */
export function sliceText(text: string, start: number, end: number): string {
  const points = pointsOf(text);
  return points ? points.slice(start, end).join("") : text.slice(start, end);
}

export function countPoints(text: string): number {
  return pointsOf(text)?.length ?? text.length;
}

/** UTF-16 offset of a code point. */
export function unitOffset(text: string, point: number): number {
  return hasPairs(text) ? Array.from(text).slice(0, point).join("").length : point;
}

/** Code points before a UTF-16 offset. */
export function pointOffset(text: string, unit: number): number {
  return hasPairs(text) ? Array.from(text.slice(0, unit)).length : unit;
}

/** White space as Unicode has it, which is not what JavaScript trims. */
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
