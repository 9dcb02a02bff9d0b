/**
 * Work that one node does for all: each job has a name and one holder. If the holder dies, another node takes the job.
 */
import type { Log } from "../../lib/log.ts";
import type { SharedDatabase } from "../database/database.ts";
import type { Lease } from "./lease.ts";

/** A claim on a job, valid until `end`. */
export interface Job {
  /** Whether this node has to do the job now. Writes for the job check this again, see `WriteContext.job`. */
  isHeld(): boolean;
  /** Releases the job for other nodes. */
  end(): void;
}

export interface Jobs {
  /** Takes the job whenever no other node holds it. `changed` is called when `isHeld` may have changed. */
  want(name: string, changed?: () => void): Job;
}

/** Without other nodes, this process holds every job. */
export const ownJobs: Jobs = { want: () => ({ isHeld: () => true, end: () => undefined }) };

/** A holder always has a live epoch: the row of a dead node is deleted before its jobs are taken. */
const claimText = `insert into jobs (name, node, epoch) select name, $1, $2 from unnest($3::text[]) as name
  on conflict (name) do update set node = excluded.node, epoch = excluded.epoch
  where not exists (select 1 from nodes where nodes.id = jobs.node and nodes.epoch = jobs.epoch)
  returning name`;

export function makeSharedJobs(shared: SharedDatabase, lease: Lease, log: Log): Jobs {
  const wanted = new Map<string, Set<() => void>>();
  /** Held jobs, with the epoch under which they were taken. */
  const held = new Map<string, number>();
  let claiming: Promise<void> | undefined;
  const isHeld = (name: string): boolean => lease.isHeld() && held.get(name) === lease.fence().epoch;
  const tell = (name: string): void => wanted.get(name)?.forEach((changed) => changed());
  const claim = async (): Promise<void> => {
    const { node, epoch } = lease.fence();
    const missing = [...wanted.keys()].filter((name) => held.get(name) !== epoch);
    if (missing.length === 0 || !lease.isHeld()) return;
    const rows = await shared.query<{ name: string }>(claimText, [node, epoch, missing]);
    for (const { name } of rows) {
      held.set(name, epoch);
      log.debug("job taken", { job: name });
      tell(name);
    }
  };
  const claimSoon = (): void => {
    claiming ??= claim()
      .catch((error: unknown) => log.debug("jobs not claimed", { error }))
      .finally(() => {
        claiming = undefined;
      });
  };
  lease.onRenewal(() => {
    if (lease.isHeld()) claimSoon();
    else for (const name of held.keys()) tell(name);
  });
  return {
    want(name, changed = () => undefined) {
      const watchers = wanted.get(name) ?? new Set();
      wanted.set(name, watchers.add(changed));
      queueMicrotask(claimSoon);
      return {
        isHeld: () => watchers.has(changed) && isHeld(name),
        end() {
          watchers.delete(changed);
          if (watchers.size > 0) return;
          wanted.delete(name);
          if (!held.delete(name)) return;
          const { node } = lease.fence();
          void shared.query("delete from jobs where name = $1 and node = $2", [name, node]).catch(() => undefined);
        },
      };
    },
  };
}
