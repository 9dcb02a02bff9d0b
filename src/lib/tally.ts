/**
 * Counts of finished traffic of one service: numbers, a histogram of latencies, and reasons of refusals. Tallies of
 * several edges, nodes and times can be added. The packed form crosses threads and nodes, and is stored on disk.
 */

/** The counts in their stored order. New ones are added at the end. */
export const countNames = [
  "requests",
  "errors",
  "forwarded",
  "answered",
  "denied",
  "failed",
  "responses_none",
  "responses_1xx",
  "responses_2xx",
  "responses_3xx",
  "responses_4xx",
  "responses_5xx",
  "bytes_in",
  "bytes_out",
  "connections",
  "connections_denied",
  "connections_failed",
] as const;

export type CountName = (typeof countNames)[number];

/** Id of the service that stands for all services beyond a limit. */
export const otherServices = "";
/** The reason that stands for all reasons beyond the limit. */
export const otherReasons = "other";
const maxReasons = 32;
const maxNameLength = 255;

/** Service id, name, counts, pairs of latency bucket and count, pairs of reason and count. */
export type PackedTally = readonly [
  serviceId: string,
  name: string,
  counts: readonly number[],
  latency: readonly number[],
  reasons: readonly (readonly [reason: string, count: number])[],
];

const positions = new Map<string, number>(countNames.map((name, at) => [name, at]));

export class DurationTally {
  /** Name of the service, such as its host. */
  name = "";
  readonly counts: number[] = countNames.map(() => 0);
  readonly latency = new Map<number, number>();
  readonly reasons = new Map<string, number>();

  count(name: CountName, amount = 1): void {
    const at = positions.get(name) as number;
    this.counts[at] = (this.counts[at] as number) + amount;
  }

  read(name: CountName): number {
    return this.counts[positions.get(name) as number] as number;
  }

  observe(latencyMs: number): void {
    addToCount(this.latency, latencyBucket(latencyMs), 1);
  }

  refuse(reason: string, amount = 1): void {
    const isKnown = this.reasons.has(reason) || this.reasons.size < maxReasons;
    addToCount(this.reasons, isKnown ? reason : otherReasons, amount);
  }

  /** Ignores what is not a count, as in a damaged file. */
  add([, name, counts, latency, reasons]: PackedTally): void {
    if (name !== "") this.name = name.slice(0, maxNameLength);
    for (let at = 0; at < this.counts.length; at += 1) {
      this.counts[at] = (this.counts[at] as number) + countOf(counts[at]);
    }
    for (let at = 0; at < latency.length; at += 2) {
      const bucket = countOf(latency[at]);
      if (bucket <= lastBucket) addToCount(this.latency, bucket, countOf(latency[at + 1]));
    }
    for (const [reason, count] of reasons) this.refuse(reason, countOf(count));
  }

  pack(serviceId: string): PackedTally {
    return [serviceId, this.name, this.counts, [...this.latency].flat(), [...this.reasons]];
  }
}

/** Returns the number of requests and connections. */
export function trafficOf([, , counts]: PackedTally): number {
  return countOf(counts[positions.get("requests") as number]) + countOf(counts[positions.get("connections") as number]);
}

/** Adds packed tallies by service. A service beyond `maxServices` is added to the other services. */
export function addTallies(to: Map<string, DurationTally>, packed: readonly PackedTally[], maxServices: number): void {
  for (const one of packed) {
    const id = to.has(one[0]) || to.size < maxServices ? one[0] : otherServices;
    let tally = to.get(id);
    if (!tally) to.set(id, (tally = new DurationTally()));
    tally.add(id === otherServices ? [id, "", one[2], one[3], one[4]] : one);
  }
}

/** Upper bound of the first bucket, milliseconds. The bound of each next bucket is a quarter of an octave higher. */
const firstBoundMs = 0.5;
const bucketsPerOctave = 4;
/** Everything above 9 minutes. */
const lastBucket = 81;

export function latencyBucket(ms: number): number {
  if (!(ms > firstBoundMs)) return 0;
  return Math.min(lastBucket, Math.ceil(Math.log2(ms / firstBoundMs) * bucketsPerOctave));
}

/** Returns a percentile of a histogram, within 10 %; undefined without values. */
export function percentileOf(latency: ReadonlyMap<number, number>, share: number): number | undefined {
  const buckets = [...latency].sort(([one], [other]) => one - other);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let left = total * share;
  for (const [bucket, count] of buckets) {
    if (left <= count) {
      const lower = bucket === 0 ? 0 : boundOf(bucket - 1);
      return lower + (boundOf(bucket) - lower) * (left / count);
    }
    left -= count;
  }
  return undefined;
}

function boundOf(bucket: number): number {
  return firstBoundMs * 2 ** (bucket / bucketsPerOctave);
}

function addToCount<Key>(counts: Map<Key, number>, key: Key, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount);
}

function countOf(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}
