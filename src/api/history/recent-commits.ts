import type { Commit, Store } from "../../storage/store.ts";

export interface RecentCommits {
  /** Collects commits from now on. `end` must be called. */
  begin(): { readonly commits: readonly Commit[]; end(): void };
}

/** Commits that happen while the database is being read, so that what was read can be brought up to date. */
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
