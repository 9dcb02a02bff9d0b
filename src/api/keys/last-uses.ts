/**
 * When API keys, agent tokens and service tokens were last used. Uses are noted in memory, and stored together, so that
 * no call and no request waits for a write. Other nodes read the stored times.
 */
import { runUnattended } from "../../lib/boundary.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { apiKey } from "../../resources/api-key.ts";
import { credential } from "../../resources/credential.ts";
import { lastUse } from "../../resources/last-use.ts";
import { serviceToken } from "../../resources/service-token.ts";
import { docOf } from "../../schema/doc.ts";
import type { Draft, Store, StoredObject } from "../../storage/store.ts";
import type { EdgeLine, EdgeObserver } from "../edges/edges.ts";
import { systemWrite } from "../operation/system-write.ts";

export interface LastUses extends EdgeObserver {
  /** Notes that a key or token is used now. */
  note(accountId: string, id: string): void;
  /** Returns the time of the last use in RFC 3339, or null if there was none. */
  at(id: string): string | null;
  /** Writes the noted uses that are not in the database yet. */
  stop(): Promise<void>;
}

/** A stored time is replaced at most this often. */
const coarseMs = 10 * 60_000;
const storeMs = 60_000;
/** Maximum number of times in one commit. */
const maxTogether = 1_000;

const usable: ReadonlySet<string> = new Set([apiKey.name, credential.name, serviceToken.name]);

interface Use {
  readonly accountId: string;
  readonly atMs: number;
}

/** Credentials of the open agent sessions of each edge. */
type ConnectedCredentials = Map<EdgeLine, Map<string, Omit<Use, "atMs"> & { readonly id: string }>>;

export function keepLastUses(store: Store, clock: Clock, log: Log): LastUses {
  /** Stored times by the id of what was used. */
  const stored = new Map<string, Use>();
  /** Uses that are later than their stored time. Has at most one entry for each key and token. */
  const noted = new Map<string, Use>();
  const connected: ConnectedCredentials = new Map();
  /** Stored times of deleted keys and tokens. */
  const orphans = new Map<string, string>();

  const know = (object: StoredObject): void => {
    const { used_id: id, used_at: at } = docOf(object, lastUse);
    stored.set(id, { accountId: object.account_id, atMs: Date.parse(at ?? "") });
  };
  for (const object of store.objects(new Set([lastUse.name]))) know(object);
  const known = new Set(Array.from(store.objects(usable), ({ id }) => id));
  for (const [id, { accountId }] of stored) if (!known.has(id)) orphans.set(id, accountId);
  store.subscribe(({ changes }) => {
    for (const { kind, id, before, after } of changes) {
      if (kind === lastUse.name) {
        if (after) know(after);
        else if (before) stored.delete(docOf(before, lastUse).used_id);
      } else if (before && !after && usable.has(kind)) {
        noted.delete(id);
        if (stored.has(id)) orphans.set(id, before.account_id);
      }
    }
  });

  const note = (accountId: string, id: string, atMs = clock.now()): void => {
    if (atMs > (noted.get(id)?.atMs ?? 0)) noted.set(id, { accountId, atMs });
  };
  const noteConnected = (): void => {
    for (const sessions of connected.values()) for (const { accountId, id } of sessions.values()) note(accountId, id);
  };
  /** @param isLast whether the server stops */
  const keep = async (isLast: boolean): Promise<void> => {
    noteConnected();
    const latest = isLast ? Infinity : clock.now() - coarseMs;
    const due = [...noted].filter(([id, { atMs }]) => {
      const storedMs = stored.get(id)?.atMs ?? 0;
      // Stored times are whole seconds.
      return storedMs <= latest && atMs - storedMs >= 1_000;
    });
    const gone = [...orphans].map(([id, accountId]) => [id, { accountId, atMs: undefined }] as const);
    for (const [accountId, all] of Map.groupBy([...due, ...gone], ([, use]) => use.accountId)) {
      for (let at = 0; at < all.length; at += maxTogether) {
        const part = all.slice(at, at + maxTogether);
        await store.write(systemWrite(accountId, "noteUses", clock), (draft) => {
          for (const [id, { atMs }] of part) putLastUse(draft, accountId, id, atMs);
        });
        for (const [id] of part) orphans.delete(id);
      }
    }
  };
  let keeping: Promise<void> = Promise.resolve();
  const start = (isLast: boolean): Promise<void> => {
    keeping = keeping
      .then(() => keep(isLast))
      .catch((error: unknown) => log.warn("last uses of keys and tokens not stored", { error }));
    return keeping;
  };
  const timer = clock.every(storeMs, () => runUnattended("task", start(false)));

  return {
    note,
    at(id) {
      const atMs = Math.max(noted.get(id)?.atMs ?? 0, stored.get(id)?.atMs ?? 0);
      return atMs === 0 ? null : formatTimestamp(atMs);
    },
    receive(message, line) {
      switch (message.type) {
        case "hello":
        case "gone":
          connected.delete(line);
          return;
        case "session_opened": {
          const { id: sessionId, accountId, credentialId: id } = message.session;
          connected.set(line, (connected.get(line) ?? new Map()).set(sessionId, { accountId, id }));
          note(accountId, id);
          return;
        }
        case "session_closed": {
          const session = connected.get(line)?.get(message.sessionId);
          connected.get(line)?.delete(message.sessionId);
          if (session) note(session.accountId, session.id);
          return;
        }
        case "token_activity":
          for (const [accountId, id, atMs] of message.used) note(accountId, id, atMs);
      }
    },
    stop() {
      timer.cancel();
      return start(true);
    },
  };
}

/** @param atMs undefined if the key or token no longer exists */
function putLastUse(draft: Draft, accountId: string, id: string, atMs: number | undefined): void {
  const held = draft.holder(accountId, "last use", id);
  if (atMs === undefined) {
    if (held) draft.delete(held);
    return;
  }
  const doc = { used_id: id, used_at: formatTimestamp(atMs) };
  if (!held) draft.create(accountId, lastUse.name, doc);
  // Another node may have stored a later use in the meantime.
  else if (Date.parse(docOf(held, lastUse).used_at ?? "") < atMs) draft.replace(held, doc);
}
