/**
 * Shares problems of edges between servers with a common database. Each server publishes the problems of its own edges
 * as presence entries, so that all servers show the same list.
 */
import type { Problem } from "../../routing/planes/messages.ts";
import type { Presence } from "../../storage/cluster/presence.ts";

/** The problems that a server reports for its edges. */
export interface ProblemsEntry {
  readonly what: "problems";
  readonly problems: readonly Problem[];
}

export interface SharedProblems {
  /** Replaces the problems of this server. Other servers get them soon. */
  tell(problems: readonly Problem[]): void;
  /** Returns the problems of other servers. */
  others(): readonly Problem[];
  /** Resolves once everything that other servers have published so far is known, or if it cannot be loaded. */
  refresh(): Promise<void>;
  /** Receives the entry of another server. `entry` undefined removes the entry with that id. */
  heard(id: string, entry: ProblemsEntry | undefined): void;
}

/** Maximum number of shared problems. More would be of no use, and most are the same everywhere. */
const maxTold = 1_000;

/** @param node of a cluster; undefined without a cluster, where nothing is shared */
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
