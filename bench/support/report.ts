/** Medians of interleaved rounds, and ratios to a peer of the same run. */

export interface Contender<Sample> {
  readonly name: string;
  measure(): Promise<Sample>;
}

/** Measures every contender once per round, in turn, so that a noisy minute hits all of them. */
export async function interleave<Sample extends Readonly<Record<string, number>>>(
  contenders: readonly Contender<Sample>[],
  rounds: number,
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of contenders) {
      samples.get(contender.name)?.push(await contender.measure());
      process.stderr.write(`  round ${round + 1}/${rounds} ${contender.name}\r`);
    }
  }
  process.stderr.write(`${" ".repeat(60)}\r`);
  return samples;
}

/**
 * Measures all contenders at the same time, round by round: they share the machine, and whatever else it does hits
 * all of them alike. For CPU per request, where the figures are to be compared closely.
 */
export async function sideBySide<Sample extends Readonly<Record<string, number>>>(
  contenders: readonly Contender<Sample>[],
  rounds: number,
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const measured = await Promise.all(contenders.map(async ({ name, measure }) => [name, await measure()] as const));
    for (const [name, sample] of measured) samples.get(name)?.push(sample);
    process.stderr.write(`  round ${round + 1}/${rounds}\r`);
  }
  process.stderr.write(`${" ".repeat(60)}\r`);
  return samples;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}

/** Prints one table: a row per contender, median (minimum–maximum) per figure. */
export function table(title: string, samples: ReadonlyMap<string, readonly Readonly<Record<string, number>>[]>): void {
  process.stdout.write(`\n${title}\n`);
  for (const [name, rows] of samples) {
    const figures = Object.keys(rows[0] ?? {}).map((figure) => {
      const values = rows.map((row) => row[figure] as number);
      return `${figure} ${short(median(values))} (${short(Math.min(...values))}–${short(Math.max(...values))})`;
    });
    process.stdout.write(`  ${name.padEnd(28)} ${figures.join("   ")}\n`);
  }
}

/** Prints `figure` of one contender against another, the median over the rounds, and whether the target is met. */
export function ratio(
  samples: ReadonlyMap<string, readonly Readonly<Record<string, number>>[]>,
  figure: string,
  ours: string,
  peer: string,
  target: { readonly atMost: number } | { readonly atLeast: number },
): void {
  const of = (name: string): readonly number[] => (samples.get(name) ?? []).map((row) => row[figure] as number);
  const theirs = of(peer);
  const ratios = of(ours).map((value, round) => value / (theirs[round] as number));
  verdict(`${figure}: ${ours} / ${peer}`, median(ratios), target);
}

export function verdict(
  what: string,
  value: number,
  target: { readonly atMost: number } | { readonly atLeast: number },
): void {
  const met = "atMost" in target ? value <= target.atMost : value >= target.atLeast;
  const bound = "atMost" in target ? `≤ ${target.atMost}` : `≥ ${target.atLeast}`;
  process.stdout.write(`  ${met ? "met   " : "MISSED"} ${what} = ${short(value)} (target ${bound})\n`);
}

function short(value: number): string {
  if (value >= 1000) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toFixed(2);
}
