/** What a node remembers of messages that may be taken once: until they are refused by themselves, and no longer. */
export interface UsedMessages {
  /** `unknown` when there is no room to remember it: then it must not be taken. */
  claim(key: string, untilMs: number, nowMs: number): "first" | "used" | "unknown";
}

/** `key` is to hold the route besides the message's id. Room for `max` messages. */
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

/** When it is full, those that are over are looked for no more often, milliseconds. */
const sweepMs = 1000;
