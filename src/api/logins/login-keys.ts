/**
 * Keys that all edges need for logins. The control plane creates them, seals them in the database and renews them
 * before they expire.
 */
import { randomBytes } from "node:crypto";
import type { Clock, Timer } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { requestSigningPair } from "../../identity/saml/requests/signing-pair.ts";
import { newKeyPair } from "../../lib/certificates/x509.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { dayMs } from "../../lib/durations.ts";

const kind = "login_key";
const kinds: ReadonlySet<string> = new Set([kind]);
const checkMs = 60_000;

interface Rotation {
  readonly purpose: "flow" | "assertion" | "request" | "client";
  /** Interval of renewal, ms. Infinity: the key is created once. */
  readonly everyMs: number;
  /** How long edges and services have a key before it is used. */
  readonly aheadMs: number;
  /** Number of old keys to keep besides the newest. */
  readonly older: number;
  make(nowMs: number): Promise<{ readonly key: string; readonly certificate: string }>;
}

const rotations: readonly Rotation[] = [
  {
    purpose: "flow",
    everyMs: dayMs,
    aheadMs: 0,
    older: 2,
    make: async () => ({ key: randomBytes(32).toString("base64url"), certificate: "" }),
  },
  {
    purpose: "assertion",
    everyMs: 30 * dayMs,
    aheadMs: dayMs,
    older: 1,
    async make() {
      const { privateKey } = await newKeyPair("ec");
      return { key: privateKey.export({ type: "pkcs8", format: "pem" }) as string, certificate: "" };
    },
  },
  {
    // Registered clients have its signature in their ids, so the key is never renewed.
    purpose: "client",
    everyMs: Infinity,
    aheadMs: 0,
    older: 0,
    make: async () => ({ key: randomBytes(32).toString("base64url"), certificate: "" }),
  },
  {
    // Operators register its certificate at providers by hand, so the key is never renewed.
    purpose: "request",
    everyMs: Infinity,
    aheadMs: 0,
    older: 0,
    async make(nowMs) {
      const { keyPem, certificatePem } = await requestSigningPair(nowMs);
      return { key: keyPem, certificate: certificatePem };
    },
  },
];

/** Creates missing keys now and checks again every minute. Returns a function that stops the checks. */
export async function keepLoginKeys(store: Store, clock: Clock, log: Log): Promise<Timer> {
  const check = async (): Promise<void> => {
    for (const rotation of rotations) await rotateKeys(store, rotation, clock);
  };
  let isChecking = false;
  const attempt = async (): Promise<void> => {
    // If the database is slow, further checks would queue up.
    if (isChecking) return;
    isChecking = true;
    try {
      await check();
    } catch (error) {
      // The current keys remain in use. Without any keys, edges reject logins as not available yet.
      log.warn("sealing keys of logins not renewed", { error });
    } finally {
      isChecking = false;
    }
  };
  await attempt();
  return clock.every(checkMs, () => void attempt());
}

async function rotateKeys(
  store: Store,
  { purpose, everyMs, aheadMs, older, make }: Rotation,
  clock: Clock,
): Promise<void> {
  const [owner] = store.accounts();
  if (!owner) return;
  const present = newestFirst(store.objects(kinds), purpose);
  const [newest] = present;
  // Create the next key ahead of time, so that it is published before it signs.
  if (newest && clock.now() - fromOf(newest) < everyMs - aheadMs) return;
  const now = clock.now();
  const made = await make(now);
  const usedFrom = newest ? now + aheadMs : now;
  await store.write(systemWrite(owner.id, "renewLoginKey", clock), (draft) => {
    // Another node may have created the key first.
    const [last] = newestFirst(draft.page(owner.id, kind, { limit: Infinity }).objects, purpose);
    if (last && last.id !== newest?.id) return;
    draft.create(owner.id, kind, {
      purpose,
      ...made,
      made_at: formatTimestamp(now),
      used_from: formatTimestamp(usedFrom),
    });
    for (const old of present.slice(older)) if (draft.get(owner.id, kind, old.id)) draft.delete(old);
  });
}

function newestFirst(keys: Iterable<StoredObject>, purpose: string): StoredObject[] {
  const found = [...keys].filter(({ doc }) => doc["purpose"] === purpose);
  return found.sort((one, other) => fromOf(other) - fromOf(one));
}

function fromOf({ doc }: StoredObject): number {
  return Date.parse(String(doc["used_from"]));
}
