/** Publishes stored commits: applies them to the state, and notifies subscribers. */
import type { Log } from "../../lib/log.ts";
import type { State } from "../state/state.ts";
import type { Change, Commit } from "../store.ts";
import type { Usage } from "../rows/usage.ts";

export interface PublishedOptions {
  readonly state: State;
  readonly usage: Usage;
  readonly log: Log;
}

/** Combined effect of commits on the state. */
export interface Effect {
  /** One per object. */
  readonly changes: Iterable<Change>;
  /** Added bytes, by account. */
  readonly added: Iterable<readonly [accountId: string, bytes: number]>;
  readonly commits: readonly Commit[];
}

export class Published {
  readonly #options: PublishedOptions;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #count = 0;

  constructor(options: PublishedOptions) {
    this.#options = options;
  }

  /** Number of commits published since the start. */
  get count(): number {
    return this.#count;
  }

  subscribe(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  take({ changes, added, commits }: Effect): void {
    const { state, usage } = this.#options;
    state.merge(changes);
    usage.add(added);
    this.#count += commits.length;
  }

  /** Separate from `take`, so that subscribers see a head that matches the state. */
  tell(commits: readonly Commit[]): void {
    for (const commit of commits) {
      for (const listener of this.#listeners) {
        try {
          listener(commit);
        } catch (error) {
          this.#options.log.error("a listener failed on a commit", { revision: commit.revision, error });
        }
      }
    }
  }
}
