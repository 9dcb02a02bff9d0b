/**
 * Limits the memory of all sliding windows of a server (traffic policy, rate-limit). Beyond the limit, the window with
 * the most keys forgets first. So a window with few keys keeps them, however many keys other clients invent.
 */
export interface PooledWindow {
  /** Number of stored keys, and of their slots. */
  readonly size: number;
  readonly slots: number;
  /** Whether no stored request counts any more. */
  isStale(): boolean;
  /** Forgets this many keys, the least recently used first. */
  forget(keys: number): void;
}

/** Maximum slots for each key of the limit. */
const slotsPerKey = 4;
/** Share of the largest window that is forgotten at a time, because finding that window takes one step per window. */
const forgottenShare = 1 / 64;

export class WindowPool {
  readonly #maxKeys: number;
  /** Windows with their last known size. */
  readonly #windows = new Map<PooledWindow, { keys: number; slots: number }>();
  #keys = 0;
  #slots = 0;

  /** @param maxKeys of all windows together */
  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** Number of keys of all windows, and of their slots. */
  get size(): number {
    return this.#keys;
  }

  get slots(): number {
    return this.#slots;
  }

  /** Call this when a window has grown. Makes room, but never removes the key that the window used last. */
  grown(window: PooledWindow): void {
    // A removed limit sends no more updates.
    if (!this.#windows.has(window)) this.#dropStale();
    this.#note(window);
    while (this.#keys > this.#maxKeys || this.#slots > slotsPerKey * this.#maxKeys) {
      const largest = this.#largest(window);
      if (!largest) return;
      const most = largest === window ? window.size - 1 : largest.size;
      largest.forget(Math.min(most, Math.ceil(largest.size * forgottenShare)));
      this.#note(largest);
    }
  }

  #note(window: PooledWindow): void {
    const { size, slots } = window;
    const seen = this.#windows.get(window) ?? { keys: 0, slots: 0 };
    this.#keys += size - seen.keys;
    this.#slots += slots - seen.slots;
    if (size === 0) this.#windows.delete(window);
    else this.#windows.set(window, { keys: size, slots });
  }

  /** Returns the largest window that can forget keys. @param current its last key is in use */
  #largest(current: PooledWindow): PooledWindow | undefined {
    let largest: PooledWindow | undefined;
    let most = 0;
    for (const [window, { keys, slots }] of this.#windows) {
      if (keys + slots <= most || (window === current && keys === 1)) continue;
      largest = window;
      most = keys + slots;
    }
    return largest;
  }

  #dropStale(): void {
    for (const window of this.#windows.keys()) {
      if (!window.isStale()) continue;
      window.forget(window.size);
      this.#note(window);
    }
  }
}
