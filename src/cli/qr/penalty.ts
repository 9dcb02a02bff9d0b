/** Computes how hard a QR code is to read (ISO/IEC 18004 §7.8.3). The mask with the lowest penalty is used. */
import type { Grid } from "./grid.ts";

export function penaltyOf(grid: Grid): number {
  const columns = grid.map((_, x) => grid.map((row) => row[x] === true));
  const lines = [...grid, ...columns].map((line) => line.map((dark) => (dark ? "1" : "0")).join(""));
  return (
    lines.reduce((sum, line) => sum + linePenalty(line), 0) + blockPenalty(grid) + balancePenalty(lines, grid.length)
  );
}

/** Counts runs of one colour and patterns that resemble a finder pattern. */
function linePenalty(line: string): number {
  const runs = line.match(/0{5,}|1{5,}/g) ?? [];
  const alike = runs.reduce((sum, run) => sum + run.length - 2, 0);
  const finders = [...line.matchAll(/(?=10111010000|00001011101)/g)].length;
  return alike + finders * 40;
}

/** Counts squares of two by two modules. */
function blockPenalty(grid: Grid): number {
  let count = 0;
  for (let y = 1; y < grid.length; y += 1) {
    for (let x = 1; x < grid.length; x += 1) {
      const dark = grid[y]?.[x];
      if (grid[y]?.[x - 1] === dark && grid[y - 1]?.[x] === dark && grid[y - 1]?.[x - 1] === dark) count += 1;
    }
  }
  return count * 3;
}

/** Distance from half dark, in steps of 5 %. */
function balancePenalty(lines: readonly string[], size: number): number {
  const rows = lines.slice(0, size).join("");
  const share = rows.replaceAll("0", "").length / rows.length;
  return Math.floor(Math.abs(share * 20 - 10)) * 10;
}
