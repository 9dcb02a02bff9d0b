import type { Commit, Store } from "../../storage/store.ts";

export interface RecentCommits {
  /** Collects commits from now on. The caller must call `end`. */
  begin(): { readonly commits: readonly Commit[]; end(): void };
}

/** Collects commits during a database read, to update the result of the read. */
export function watchCommits(store: Store): RecentCommits {
  const collecting = new Set<Commit[]>();
  let subscribed = false;
  return {
    begin() {
      if (!subscribed) store.subscribe((commit) => collecting.forEach((commits) => commits.push(commit)));
      subscribed = true;
      const commits: Commit[] = [];
      collecting.add(commits);
      return { commits, end: () => void collecting.delete(commits) };
    },
  };
}
