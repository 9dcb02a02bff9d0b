/** Modules of a QR code: the finder patterns, the data between them, and the format. */

/** By row; true is dark. */
export type Grid = boolean[][];

export interface Patterns {
  readonly grid: Grid;
  /** Whether a module carries data. */
  readonly isFree: (x: number, y: number) => boolean;
}

export function drawPatterns(version: number): Patterns {
  const size = version * 4 + 17;
  const grid: Grid = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  const taken: Grid = grid.map((row) => [...row]);
  const set = (x: number, y: number, dark: boolean): void => {
    (grid[y] as boolean[])[x] = dark;
    (taken[y] as boolean[])[x] = true;
  };
  for (let at = 0; at < size; at += 1) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    drawRings(size, x, y, 4, (distance) => distance !== 2 && distance !== 4, set);
  }
  const places = alignmentPlaces(version, size);
  const last = places.length - 1;
  for (const [i, x] of places.entries()) {
    for (const [j, y] of places.entries()) {
      if ((i === 0 && (j === 0 || j === last)) || (i === last && j === 0)) continue;
      drawRings(size, x, y, 2, (distance) => distance !== 1, set);
    }
  }
  for (const [x, y] of formatPlaces(size).flat()) set(x, y, false);
  set(8, size - 8, true);
  if (version >= 7) drawVersion(version, size, set);
  return { grid, isFree: (x, y) => taken[y]?.[x] === false };
}

type SetModule = (x: number, y: number, dark: boolean) => void;

/** Draws a square around x, y. The distance to the centre decides which modules are dark. */
function drawRings(
  size: number,
  x: number,
  y: number,
  radius: number,
  isDark: (distance: number) => boolean,
  set: SetModule,
): void {
  for (let dy = -radius; dy <= radius; dy += 1) {
    for (let dx = -radius; dx <= radius; dx += 1) {
      const [at, row] = [x + dx, y + dy];
      if (at < 0 || row < 0 || at >= size || row >= size) continue;
      set(at, row, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  }
}

function alignmentPlaces(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - step * (count - 2 - at))];
}

/** Draws the version at two corners as eighteen bits, twelve of which are check bits. */
function drawVersion(version: number, size: number, set: SetModule): void {
  const bits = (version << 12) | divideForRemainder(version, 12, 0x1f25);
  for (let at = 0; at < 18; at += 1) {
    const dark = ((bits >>> at) & 1) === 1;
    const [near, far] = [Math.floor(at / 3), size - 11 + (at % 3)];
    set(far, near, dark);
    set(near, far, dark);
  }
}

/** Returns the two places of each of the fifteen format bits. */
function formatPlaces(size: number): readonly (readonly (readonly [x: number, y: number])[])[] {
  return Array.from({ length: 15 }, (_, bit) => {
    const near = bit < 6 ? bit : bit < 8 ? bit + 1 : bit === 8 ? 7 : 14 - bit;
    const first = bit < 8 ? ([8, near] as const) : ([near, 8] as const);
    const second = bit < 8 ? ([size - 1 - bit, 8] as const) : ([8, size - 15 + bit] as const);
    return [first, second];
  });
}

/** Adds the format of level M (0) and the mask. */
export function addFormat(grid: Grid, mask: number): Grid {
  const bits = ((mask << 10) | divideForRemainder(mask, 10, 0x537)) ^ 0x5412;
  for (const [bit, places] of formatPlaces(grid.length).entries()) {
    for (const [x, y] of places) (grid[y] as boolean[])[x] = ((bits >>> bit) & 1) === 1;
  }
  return grid;
}

/** Returns the remainder of a division of polynomials over GF(2), with `count` zeros after the value. */
function divideForRemainder(value: number, count: number, divisor: number): number {
  let rest = value;
  for (let at = 0; at < count; at += 1) rest = (rest << 1) ^ ((rest >>> (count - 1)) * divisor);
  return rest;
}

/** Fills two columns at a time from the right, alternately upwards and downwards, and skips the timing column. */
export function placeData(grid: Grid, isFree: Patterns["isFree"], bytes: readonly number[]): void {
  const size = grid.length;
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    const isUp = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!isFree(x, y) || bit >= bytes.length * 8) continue;
        (grid[y] as boolean[])[x] = (((bytes[bit >>> 3] as number) >>> (7 - (bit & 7))) & 1) === 1;
        bit += 1;
      }
    }
  }
}

const masks: readonly ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2,
  (_x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** Whether the mask inverts the module. */
export function maskBit(mask: number, x: number, y: number): boolean {
  return masks[mask]?.(x, y) === 0;
}
