/**
 * What all sliding windows of a server remember together (traffic policy, rate-limit). Beyond the bound the window with
 * the most forgets first: who has few keys keeps them, whatever keys somebody else makes up.
 */
export interface PooledWindow {
  /** Keys that are remembered, and the slots of them all. */
  readonly size: number;
  readonly slots: number;
  /** Nothing that is remembered counts any more. */
  isStale(): boolean;
  /** Forgets so many keys, those first that were unused for longest. */
  forget(keys: number): void;
}

/** Slots for each key that there is room for. */
const slotsPerKey = 4;
/** Of the largest window, so much is forgotten at a time: looking for it costs as many steps as there are windows. */
const forgottenShare = 1 / 64;

export class WindowPool {
  readonly #maxKeys: number;
  /** With what each was seen to remember. */
  readonly #windows = new Map<PooledWindow, { keys: number; slots: number }>();
  #keys = 0;
  #slots = 0;

  /** @param maxKeys of all windows together */
  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** Keys of all windows, and their slots. */
  get size(): number {
    return this.#keys;
  }

  get slots(): number {
    return this.#slots;
  }

  /** To be called when a window remembers more. Makes room, but for the key that it has used last. */
  grown(window: PooledWindow): void {
    // A limit that is no longer there says nothing more.
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

  /** Of those that can forget anything. @param current its last key is in use */
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
