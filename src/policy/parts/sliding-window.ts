/**
 * Limits the number of requests within any period of a given length, for each key (traffic policy, rate-limit).
 * Requests are counted in slots, so that memory per key does not grow with the limit.
 */
import { hash } from "node:crypto";
import type { PooledWindow, WindowPool } from "../language/window-pool.ts";

export interface SlidingWindowOptions {
  /** Maximum requests within the window. */
  readonly capacity: number;
  readonly windowMs: number;
  /** Monotonic milliseconds, see `Clock`. */
  readonly monotonic: () => number;
  /** Maximum stored keys. Default: 100,000. The least recently used key is forgotten first. */
  readonly maxBuckets?: number;
  /** Maximum slots of all keys together. Default: four times `maxBuckets`. Keys are forgotten in the same order. */
  readonly maxSlots?: number;
  /** Limits the windows of a server together. */
  readonly pool?: WindowPool | undefined;
}

export interface SlidingWindow {
  /**
   * Counts a request of `key` if it is within the limit. A rejected request does not count.
   * @returns 0 if the request is admitted, otherwise milliseconds until the next one may be admitted
   */
  take(key: string): number;
  /** Same as `take`, without counting. */
  wait(key: string): number;
  /** Number of stored keys. */
  readonly size: number;
  /** Number of slots of all keys. */
  readonly slots: number;
}

/** Requests admitted at about the same time. They leave the window together, with the last of them. */
interface Slot {
  readonly startedAt: number;
  lastAt: number;
  count: number;
  next: Slot | undefined;
}

interface Bucket {
  oldest: Slot | undefined;
  newest: Slot | undefined;
  count: number;
  slots: number;
}

const defaultMaxBuckets = 100_000;
const minSlotMs = 10_000;
const slotsPerWindow = 60;
/** Longer keys are stored as their hash. */
const maxKeyLength = 64;

/**
 * No period of `windowMs` ever contains more than `capacity` requests. A slot (10 s or a sixtieth of the window,
 * whichever is longer) counts until its last request has left. So a busy key may wait up to one slot longer than
 * necessary. Each call takes constant time: a key has at most 62 open slots, and each is dropped once.
 */
export function makeSlidingWindow(options: SlidingWindowOptions): SlidingWindow {
  const { capacity, windowMs, monotonic, maxBuckets = defaultMaxBuckets, maxSlots = 4 * maxBuckets, pool } = options;
  const slotMs = Math.max(minSlotMs, windowMs / slotsPerWindow);
  /** In order of use. */
  const buckets = new Map<string, Bucket>();
  let slots = 0;
  let usedAt = monotonic();

  const expire = (bucket: Bucket, now: number): void => {
    let { oldest } = bucket;
    while (oldest && oldest.lastAt + windowMs <= now) {
      bucket.count -= oldest.count;
      bucket.slots -= 1;
      slots -= 1;
      oldest = oldest.next;
    }
    bucket.oldest = oldest;
    if (!oldest) bucket.newest = undefined;
  };
  const waitOf = (bucket: Bucket, now: number): number =>
    bucket.count < capacity || !bucket.oldest ? 0 : bucket.oldest.lastAt + windowMs - now;
  const forget = (keys: number): void => {
    let left = keys;
    for (const [key, bucket] of buckets) {
      if (left === 0) return;
      left -= 1;
      slots -= bucket.slots;
      buckets.delete(key);
    }
  };
  /** Never removes the last key, which is in use. */
  const makeRoom = (): void => {
    const isOver = (): boolean => buckets.size > maxBuckets || slots > maxSlots;
    while (buckets.size > 1 && isOver()) forget(1);
  };
  const pooled: PooledWindow = {
    get size() {
      return buckets.size;
    },
    get slots() {
      return slots;
    },
    isStale: () => usedAt + windowMs <= monotonic(),
    forget,
  };
  const nameOf = (key: string): string => (key.length > maxKeyLength ? hash("sha256", key, "base64") : key);

  return {
    take(key) {
      const name = nameOf(key);
      const now = monotonic();
      const known = buckets.get(name);
      const bucket: Bucket = known ?? { oldest: undefined, newest: undefined, count: 0, slots: 0 };
      // Moves the most recently used key to the end.
      if (known) buckets.delete(name);
      buckets.set(name, bucket);
      usedAt = now;
      expire(bucket, now);
      const wait = waitOf(bucket, now);
      if (wait > 0) return wait;
      bucket.count += 1;
      const { newest } = bucket;
      if (newest && now - newest.startedAt < slotMs) {
        newest.count += 1;
        newest.lastAt = now;
        return 0;
      }
      const slot: Slot = { startedAt: now, lastAt: now, count: 1, next: undefined };
      if (newest) newest.next = slot;
      else bucket.oldest = slot;
      bucket.newest = slot;
      bucket.slots += 1;
      slots += 1;
      makeRoom();
      pool?.grown(pooled);
      return 0;
    },
    wait(key) {
      const bucket = buckets.get(nameOf(key));
      if (!bucket) return 0;
      const now = monotonic();
      expire(bucket, now);
      return waitOf(bucket, now);
    },
    get size() {
      return buckets.size;
    },
    get slots() {
      return slots;
    },
  };
}

/** Returns whole seconds for `Retry-After` (RFC 9110 §10.2.3). Never 0, because that would cause an immediate retry. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}
