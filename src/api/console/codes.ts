/** Codes that open the console once, as links carry them: in memory, for minutes. */
import type { Clock } from "../../lib/clock.ts";
import { randomText } from "../../lib/ids.ts";
import { hashToken } from "../../lib/tokens.ts";

interface Entry {
  readonly keyId: string;
  readonly expiresAtMs: number;
}

export interface Codes {
  /** A code for the key, and until when it is good. */
  make(keyId: string): { readonly code: string; readonly expiresAtMs: number };
  /** The key of a code that was good until now; it is none from now on. */
  take(code: string): string | undefined;
}

const livesMs = 15 * 60_000;
/** The oldest give way. */
const maxCodes = 1_000;

export function makeCodes(clock: Clock): Codes {
  /** By their hash, so that what is compared is not what was sent. */
  const kept = new Map<string, Entry>();
  return {
    make(keyId) {
      const code = randomText(40);
      const expiresAtMs = clock.now() + livesMs;
      kept.set(hashToken(code).toString("hex"), { keyId, expiresAtMs });
      for (const [oldest] of kept) {
        if (kept.size <= maxCodes) break;
        kept.delete(oldest);
      }
      return { code, expiresAtMs };
    },
    take(code) {
      const hash = hashToken(code).toString("hex");
      const found = kept.get(hash);
      kept.delete(hash);
      return found && found.expiresAtMs > clock.now() ? found.keyId : undefined;
    },
  };
}
