/** Deletes invitations of agents and people, some time after they expired. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { agentInvitation } from "../../resources/agent-invitation.ts";
import { personInvitation } from "../../resources/person-invitation.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import { recordJob } from "../operation/recorded.ts";
import { systemWrite } from "../operation/system-write.ts";

const kinds: ReadonlySet<string> = new Set([agentInvitation.name, personInvitation.name]);
const sweepMs = 60 * 60_000;
/** How long expired invitations remain listed. */
const keptMs = 7 * 24 * 60 * 60_000;

export function sweepInvitations(
  store: Store,
  clock: Clock,
  log: Log,
  recorder: SpanRecorder | undefined,
): { stop(): void } {
  const job = store.jobs.want("forget invitations");
  const sweep = async (): Promise<number> => {
    if (!job.isHeld()) return 0;
    const ended = [...store.objects(kinds)].filter((one) => endOf(one) + keptMs <= store.settledNow());
    for (const { account_id, kind, id } of ended) {
      await store.write(systemWrite(account_id, "forgetInvitation", clock), (draft) => {
        const object = draft.get(account_id, kind, id);
        if (object) draft.delete(object);
      });
    }
    return ended.length;
  };
  const timer = clock.every(sweepMs, () => {
    recordJob(recorder, clock, "forget invitations", sweep).catch((error: unknown) =>
      log.warn("expired invitations not deleted", { error }),
    );
  });
  return { stop: () => timer.cancel() };
}

function endOf({ doc }: StoredObject): number {
  return Date.parse(String(doc["expires_at"]));
}
