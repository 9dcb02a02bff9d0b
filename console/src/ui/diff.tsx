/** Shows the differences of two texts, line by line. */

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/**
 * Maximum number of lines per side. Longer texts are compared as a whole, because the table of the method grows
 * quadratically.
 */
const maxLines = 1_500;

/** Compares by the longest common subsequence of lines. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [one, other] = [linesOf(before), linesOf(after)];
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = one.length - 1; row >= 0; row -= 1) {
    const line = lengths[row] as Uint16Array;
    for (let column = other.length - 1; column >= 0; column -= 1) {
      line[column] =
        one[row] === other[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < one.length || column < other.length) {
    if (row < one.length && one[row] === other[column]) {
      lines.push({ kind: "same", text: one[row] as string });
      row += 1;
      column += 1;
    } else if (column >= other.length || (row < one.length && at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: "removed", text: one[row] as string });
      row += 1;
    } else {
      lines.push({ kind: "added", text: other[column] as string });
      column += 1;
    }
  }
  return lines;
}

function linesOf(text: string): string[] {
  const lines = text === "" ? [] : text.split("\n");
  return lines.length <= maxLines ? lines : [...lines.slice(0, maxLines), lines.slice(maxLines).join("\n")];
}

const signs = { same: " ", added: "+", removed: "-" };

interface DiffProps {
  readonly before: string;
  readonly after: string;
  /** Number of lines shown around each difference. Default: all. */
  readonly around?: number;
}

export function Diff({ before, after, around }: DiffProps) {
  const lines = diffLines(before, after);
  const isNear = (at: number): boolean =>
    around === undefined || lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== "same");
  return (
    <div class="diff" role="group" aria-label="Differences">
      {lines.map(({ kind, text }, at) => {
        if (isNear(at)) return <div key={at} class={kind}>{`${signs[kind]} ${text}`}</div>;
        return at === 0 || isNear(at - 1) ? (
          <div key={at} class="left-out">
            ⋯
          </div>
        ) : undefined;
      })}
    </div>
  );
}
