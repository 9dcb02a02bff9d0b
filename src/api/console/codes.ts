/** Codes that open the console once, as links carry them: for minutes, at any server that shares the database. */
import type { Clock } from "../../lib/clock.ts";
import { timestamp } from "../../lib/clock.ts";
import { randomText } from "../../lib/ids.ts";
import { hashToken } from "../../lib/tokens.ts";
import { consoleCode } from "../../resources/console-code.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

export interface Codes {
  /** A code for the account's key, and until when it is good. */
  make(accountId: string, keyId: string): Promise<{ readonly code: string; readonly expiresAtMs: number }>;
  /** The key of a code that was good until now; it is none from now on, wherever it is tried. */
  take(code: string): Promise<string | undefined>;
}

const livesMs = 15 * 60_000;
/** Of each key; the oldest give way. */
const maxOfKey = 100;
const kind = consoleCode.name;

export function makeCodes(store: Store, clock: Clock): Codes {
  return {
    async make(accountId, keyId) {
      const code = randomText(40);
      const expiresAtMs = clock.now() + livesMs;
      // What is compared is not what was sent.
      const doc = { api_key_id: keyId, code_hash: hashOf(code), expires_at: timestamp(expiresAtMs) };
      await store.write(systemWrite(accountId, "makeConsoleCode", clock), (draft) => {
        const others = [...draft.children(kind, keyId)];
        const tooMany = others.length + 1 - maxOfKey;
        for (const [at, old] of others.entries())
          if (at < tooMany || endOf(old) <= store.settledNow()) draft.delete(old);
        draft.create(accountId, kind, doc);
      });
      return { code, expiresAtMs };
    },
    async take(code) {
      const hashed = hashOf(code);
      const find = (): StoredObject | undefined => store.holder("", "console code", hashed);
      // Another server may have made it a moment ago.
      if (!find() && store.node) await store.refresh();
      const found = find();
      if (!found) return undefined;
      // Of two servers that try it, the second finds it gone: its write is made again on what the first has left.
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
