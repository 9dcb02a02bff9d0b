/** A token bucket: first `burst` tokens, then `perSecond`. */
export interface Rate {
  /** Takes a token. Returns whether there was one. */
  take(): boolean;
}

/** @param monotonic milliseconds, see `Clock` */
export function makeRate(perSecond: number, burst: number, monotonic: () => number): Rate {
  let tokens = burst;
  let at = monotonic();
  return {
    take() {
      const now = monotonic();
      if (now === at && tokens < 1) return false;
      tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
      at = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
