/** Smaller source maps: positions of lines instead of positions of every word. */

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const valueOf = new Map(Array.from(digits, (digit, at) => [digit, at]));

/**
 * Returns the mappings of a source map (ECMA-426) with the first position of each run of words from one line of a source.
 * Stack traces keep their files and lines, and most of their columns are lost.
 */
export function lineMappings(mappings: string): string {
  /** Source, line and column of the last position that was read, and of the last one that was kept. */
  const read = [0, 0, 0];
  let kept: readonly number[] = [0, 0, 0];
  return mappings
    .split(";")
    .map((line) => {
      let column = 0;
      let keptColumn = 0;
      let isFirst = true;
      const out: string[] = [];
      for (const segment of line === "" ? [] : line.split(",")) {
        const [columns = 0, ...deltas] = numbersOf(segment);
        column += columns;
        for (const at of read.keys()) read[at] = (read[at] as number) + (deltas[at] ?? 0);
        if (deltas.length < 3 || (!isFirst && read[0] === kept[0] && read[1] === kept[1])) continue;
        isFirst = false;
        const changes = read.map((value, at) => value - (kept[at] as number));
        out.push([column - keptColumn, ...changes].map(textOf).join(""));
        kept = [...read];
        keptColumn = column;
      }
      return out.join(",");
    })
    .join(";");
}

/** Reads variable-length quantities in base 64: five bits a digit, the lowest bit of a number is its sign. */
function numbersOf(segment: string): readonly number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = valueOf.get(digit) ?? 0;
    value += (bits & 31) << shift;
    shift += 5;
    if (bits >= 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function textOf(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = "";
  do {
    const bits = rest & 31;
    rest >>= 5;
    text += digits[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return text;
}
