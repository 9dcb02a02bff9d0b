/**
 * What edges could not put into effect at all servers that share a database: each tells the others, in presence, what it is at its
 * own, so that whichever is asked says the same.
 */
import type { Problem } from "../../routing/planes/messages.ts";
import type { Presence } from "../../storage/cluster/presence.ts";

/** What a server says of its edges. */
export interface ProblemsEntry {
  readonly what: "problems";
  readonly problems: readonly Problem[];
}

export interface SharedProblems {
  /** These are all that there are here: the others are told soon. */
  tell(problems: readonly Problem[]): void;
  /** What other servers tell. */
  others(): readonly Problem[];
  /** Everything that others have told so far is known when it resolves; also when it cannot be asked for. */
  refresh(): Promise<void>;
  /** Of another server: `entry` undefined takes back what was heard under the id. */
  heard(id: string, entry: ProblemsEntry | undefined): void;
}

/** Of which others are told; nobody reads more, and most are the same everywhere. */
const maxTold = 1_000;

/** @param node of a cluster; undefined: nobody is told */
export function shareProblems(node: { readonly id: string; readonly presence: Presence } | undefined): SharedProblems {
  const known = new Map<string, ProblemsEntry>();
  let isTold = false;
  return {
    tell(problems) {
      if (!node || (problems.length === 0 && !isTold)) return;
      const id = `problems ${node.id}`;
      isTold = problems.length > 0;
      if (!isTold) {
        node.presence.remove(id);
        return;
      }
      const entry: ProblemsEntry = { what: "problems", problems: problems.slice(0, maxTold) };
      node.presence.put(id, JSON.stringify(entry));
    },
    others: () => [...known.values()].flatMap(({ problems }) => problems),
    async refresh() {
      await node?.presence.refresh().catch(() => undefined);
    },
    heard(id, entry) {
      if (entry) known.set(id, entry);
      else known.delete(id);
    },
  };
}
