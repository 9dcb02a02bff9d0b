/** One-time codes in links to the console. They are valid for minutes, on any server with the same database. */
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { randomText } from "../../lib/ids.ts";
import { hashToken } from "../../lib/tokens.ts";
import { consoleCode } from "../../resources/console-code.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

export interface Codes {
  /** Returns a code for the account's key, and its expiry. */
  make(accountId: string, keyId: string): Promise<{ readonly code: string; readonly expiresAtMs: number }>;
  /** Returns the key of a valid code and invalidates the code on all servers. */
  take(code: string): Promise<string | undefined>;
}

const livesMs = 15 * 60_000;
/** Maximum number of codes per key. The oldest are evicted. */
const maxOfKey = 100;
const kind = consoleCode.name;

export function makeCodes(store: Store, clock: Clock): Codes {
  return {
    async make(accountId, keyId) {
      const code = randomText(40);
      const expiresAtMs = clock.now() + livesMs;
      // Store a hash, so that lookups do not compare the sent code itself.
      const doc = { api_key_id: keyId, code_hash: hashOf(code), expires_at: formatTimestamp(expiresAtMs) };
      await store.write(systemWrite(accountId, "makeConsoleCode", clock), (draft) => {
        const codes = [...draft.children(kind, keyId)];
        const tooMany = codes.length + 1 - maxOfKey;
        for (const [at, old] of codes.entries())
          if (at < tooMany || endOf(old) <= store.settledNow()) draft.delete(old);
        draft.create(accountId, kind, doc);
      });
      return { code, expiresAtMs };
    },
    async take(code) {
      const hashed = hashOf(code);
      const find = (): StoredObject | undefined => store.holder("", "console code", hashed);
      // Another server may have just created it.
      if (!find() && store.node) await store.refresh();
      const found = find();
      if (!found) return undefined;
      // If two servers use the same code, the second write is repeated on the state after the first and finds no code.
      const { result } = await store.write(systemWrite(found.account_id, "takeConsoleCode", clock), (draft) => {
        const held = draft.get(found.account_id, kind, found.id);
        if (!held) return undefined;
        draft.delete(held);
        return endOf(held) > clock.now() ? docOf(held, consoleCode).api_key_id : undefined;
      });
      return result ?? undefined;
    },
  };
}

function hashOf(code: string): string {
  return hashToken(code).toString("hex");
}

function endOf(object: StoredObject): number {
  return Date.parse(docOf(object, consoleCode).expires_at ?? "");
}
