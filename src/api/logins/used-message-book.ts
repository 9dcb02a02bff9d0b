/** Messages of identity providers that edges may accept only once. The first edge that claims a message gets it. */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { LoginReport } from "../../identity/sessions/login-reports.ts";
import type { Store } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { systemWrite } from "../operation/system-write.ts";

const kind = "used_message";
const sweepMs = 60_000;
/** Maximum number of claims per account, each stored for minutes. At the limit, new claims are rejected. */
const maxOfAccount = 10_000;

export interface UsedMessageBook extends EdgeObserver {
  stop(): void;
}

type UsedMessageReport = LoginReport & { readonly type: "message_claim" };

/** Stores claims, so that a message cannot be claimed again after a restart. */
export function keepUsedMessages(store: Store, clock: Clock, log: Log): UsedMessageBook {
  const ofAccount = new Map<string, Map<string, number>>();
  const note = (accountId: string, id: string, untilMs: number): void => {
    let known = ofAccount.get(accountId);
    if (!known) ofAccount.set(accountId, (known = new Map()));
    known.set(id, untilMs);
  };
  for (const { account_id, id, doc } of store.objects(new Set([kind]))) {
    note(account_id, id, Date.parse(String(doc["until"])));
  }
  store.subscribe(({ changes }) => {
    for (const { kind: of, id, before, after } of changes) {
      if (of !== kind) continue;
      if (after) note(after.account_id, id, Date.parse(String(after.doc["until"])));
      else ofAccount.get(before?.account_id ?? "")?.delete(id);
    }
  });
  const job = store.jobs.want("forget messages");

  const claim = async ({ accountId, key, untilMs }: UsedMessageReport): Promise<"first" | "used" | "unknown"> => {
    if ((ofAccount.get(accountId)?.size ?? 0) >= maxOfAccount) return "unknown";
    try {
      const { result } = await store.write(systemWrite(accountId, "claimMessage", clock), (draft) =>
        draft.holder(accountId, "used message", key)
          ? undefined
          : draft.create(accountId, kind, { key, until: formatTimestamp(untilMs) }),
      );
      return result ? "first" : "used";
    } catch (error) {
      log.warn("message of an identity provider not claimed", { account: accountId, error });
      return "unknown";
    }
  };
  const sweep = async (): Promise<void> => {
    if (!job.isHeld()) return;
    for (const [accountId, known] of ofAccount) {
      const over = [...known].filter(([, untilMs]) => untilMs <= store.settledNow()).map(([id]) => id);
      if (over.length === 0) continue;
      try {
        await store.write(systemWrite(accountId, "forgetMessages", clock), (draft) => {
          for (const id of over) {
            const object = draft.get(accountId, kind, id);
            if (object) draft.delete(object);
          }
        });
      } catch (error) {
        log.warn("used messages not deleted", { account: accountId, error });
      }
    }
  };
  const timer = clock.every(sweepMs, () => void sweep());
  return {
    receive(message, line) {
      if (message.type !== "message_claim") return;
      runUnattended(
        "message",
        claim(message).then((outcome) => line.send({ type: "message_claimed", call: message.call, outcome })),
      );
    },
    stop: () => timer.cancel(),
  };
}
