/** Single-use messages that this node has accepted, remembered until they expire. */
export interface UsedMessages {
  /** Returns `unknown` if there is no room to remember the message, which must then be refused. */
  claim(key: string, untilMs: number, nowMs: number): "first" | "used" | "unknown";
}

/** `key` contains the route and the message's id. Holds at most `max` messages. */
export function makeUsedMessages(max: number): UsedMessages {
  const used = new Map<string, number>();
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    claim(key, untilMs, nowMs) {
      const knownUntil = used.get(key);
      if (knownUntil !== undefined && knownUntil > nowMs) return "used";
      if (used.size >= max && nowMs - sweptAt >= sweepMs) {
        sweptAt = nowMs;
        for (const [one, until] of used) if (until <= nowMs) used.delete(one);
      }
      if (used.size >= max && knownUntil === undefined) return "unknown";
      used.set(key, untilMs);
      return "first";
    },
  };
}

/** Minimum time between two cleanups of a full store, milliseconds. */
const sweepMs = 1000;
