/** Medians of interleaved rounds, and ratios to a peer of the same run. */

export interface Contender<Sample> {
  readonly name: string;
  measure(): Promise<Sample>;
}

/** Measures every contender once per round, in turn, so that other load on the machine affects all of them. */
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
 * Measures all contenders at the same time, round by round. They share the machine, so other load affects all of them
 * equally. Used for close comparisons of CPU per request.
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

type Samples = ReadonlyMap<string, readonly Readonly<Record<string, number>>[]>;
export type Aim = { readonly atMost: number } | { readonly atLeast: number };

/** Ratio of one contender's figure to another's in the same round, the median over the rounds, with its target. */
export type Ratio = readonly [figure: string, ours: string, peer: string, aim: Aim];

/** Prints one table: its ratios first, then a row per contender, median (minimum–maximum) per figure. */
export function table(title: string, samples: Samples, ratios: readonly Ratio[] = []): void {
  process.stdout.write(`\n${title}\n`);
  for (const [figure, ours, peer, aim] of ratios) {
    verdict(`${figure}: ${ours} / ${peer}`, ratioOf(samples, figure, ours, peer), aim);
  }
  for (const [name, rows] of samples) {
    const figures = Object.keys(rows[0] ?? {}).map((figure) => {
      const values = rows.map((row) => row[figure] as number);
      return `${figure} ${short(median(values))} (${short(Math.min(...values))}–${short(Math.max(...values))})`;
    });
    process.stdout.write(`  ${name.padEnd(28)} ${figures.join("   ")}\n`);
  }
}

function ratioOf(samples: Samples, figure: string, ours: string, peer: string): number {
  const of = (name: string): readonly number[] => (samples.get(name) ?? []).map((row) => row[figure] as number);
  const theirs = of(peer);
  return median(of(ours).map((value, round) => value / (theirs[round] as number)));
}

export function verdict(what: string, value: number, aim: Aim): void {
  const met = "atMost" in aim ? value <= aim.atMost : value >= aim.atLeast;
  const bound = "atMost" in aim ? `≤ ${aim.atMost}` : `≥ ${aim.atLeast}`;
  process.stdout.write(`  ${met ? "met   " : "MISSED"} ${what} = ${short(value)} (target ${bound})\n`);
}

function short(value: number): string {
  if (value >= 1000) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toFixed(2);
}
