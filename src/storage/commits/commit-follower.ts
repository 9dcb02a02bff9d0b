/** Updates the state to the database while other nodes also write. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { continueAfter } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import type { Database } from "../database/database.ts";
import { Superseded } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import type { Kinds } from "../rows/kinds.ts";
import { isContinued, readMissed, readStanding } from "./missed.ts";
import type { MissedCommit, MissedRow, DatabaseHead } from "./missed.ts";
import type { Published } from "./published.ts";
import { readAnew } from "./read-anew.ts";
import type { Head } from "../rows/record.ts";
import type { State } from "../state/state.ts";
import type { Change, Commit, StoredObject } from "../store.ts";
import { bytesAdded } from "../rows/usage.ts";

export interface FollowerOptions {
  readonly database: Database;
  readonly kinds: Kinds;
  readonly documents: Documents;
  readonly state: State;
  readonly published: Published;
  readonly head: Head;
  readonly log: Log;
}

/** Commits published without a pause for other work. */
const atOnce = 200;

export class Follower {
  readonly #options: FollowerOptions;
  #head: Head;
  #seen: DatabaseHead | undefined;
  /** Undeclared kinds, whose objects are skipped. */
  readonly #passedOver = new Set<string>();

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#head = options.head;
  }

  /** Head that the state corresponds to. */
  get head(): Head {
    return this.#head;
  }

  /** Number of revisions that the database was ahead at the last check; 0 once they were read. */
  get behind(): number {
    return Math.max(0, (this.#seen?.revision ?? 0) - this.#head.revision);
  }

  /** A batch of this node has moved the state to `head`. */
  moved(head: Head): void {
    this.#head = head;
  }

  /**
   * Updates the state to the database. Returns whether the state was outdated. Must not run while a batch is being
   * stored.
   * @throws Superseded if several nodes no longer share the database
   */
  async catchUp(): Promise<boolean> {
    const { database, log } = this.#options;
    const from = this.#head;
    const to = await readStanding(database.reads, from.sequence);
    if (to.holder !== from.holder) {
      throw new Superseded("follow: another process has taken over the database; restart this server");
    }
    this.#seen = to;
    const outlook = isContinued(from, to);
    if (outlook === "yes") {
      if (to.sequence === from.sequence) return false;
      await this.#take(await readMissed(database.reads, from, to), to);
      return true;
    }
    if (outlook === "lost") {
      log.error(
        "the database has lost writes that this node had applied: the node continues with the database's state",
        {
          revision: from.revision,
          databaseRevision: to.revision,
        },
      );
    }
    await this.#readAnew();
    return true;
  }

  async #take(missed: readonly MissedCommit[], { revision, hash, holder, sequence, batch }: Head): Promise<void> {
    const { state, published, kinds } = this.#options;
    const commits: Commit[] = [];
    for (const { revision: at, accountId, rows } of missed) {
      const known = rows.filter(({ kind }) => kinds.has(kind) || this.#passOver(kind));
      const changes = known.map((row) => this.#changeOf(row, state.object(row.id)));
      const commit = { revision: at, accountId, changes };
      published.take({ changes, added: bytesAdded(kinds, changes), commits: [commit] });
      commits.push(commit);
    }
    this.#head = { revision, hash, holder, sequence, batch };
    for (let at = 0; at < commits.length; at += atOnce) {
      if (at > 0) await nextTurn();
      published.tell(commits.slice(at, at + atOnce));
    }
  }

  /** Another node's version has kinds that this version lacks. Only nodes that know them use these objects. */
  #passOver(kind: string): false {
    if (!this.#passedOver.has(kind)) {
      this.#passedOver.add(kind);
      this.#options.log.warn("objects of a kind from a newer version are not served here", { kind });
    }
    return false;
  }

  #changeOf(row: MissedRow, before: StoredObject | undefined): Change {
    const { kind, id, doc } = row;
    if (doc !== null && !before) continueAfter(id);
    return { kind, id, before, after: doc === null ? undefined : this.#options.documents.read({ ...row, doc }) };
  }

  async #readAnew(): Promise<void> {
    const moved = (head: Head): void => void (this.#head = head);
    await readAnew(this.#options, moved, (kind) => this.#passOver(kind));
  }
}
