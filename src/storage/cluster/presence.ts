/**
 * What of agents is at which node: entries with a body, and the public names that they claim. What is here is told to the
 * other nodes in batches; what they have is read by the number of the last change, and told to whoever subscribes.
 */
import type { Log } from "../../lib/log.ts";
import type { Shared } from "../database/database.ts";
import type { Lease } from "./lease.ts";

/** A public name for an entry, before an agent is told that it has it. */
export interface NameClaim {
  /** A URL, or a port as `tcp:20001`. */
  readonly name: string;
  readonly accountId: string;
  readonly credentialId: string;
  /** Entries of an account and the same pool may share a name. */
  readonly pool?: string | undefined;
}

export type PresenceNews =
  /** Another node has it, as it is now. */
  | { readonly what: "put"; readonly id: string; readonly node: string; readonly body: string }
  /** No other node has it any more. */
  | { readonly what: "removed"; readonly id: string }
  /** It was this node's, and another one has it, or its name, by now: it is to be ended here. */
  | { readonly what: "taken"; readonly id: string };

export interface Presence {
  /**
   * `conflict`: another credential has the name. The newest entry of the same credential takes it over.
   * @throws Error when the database does not answer, or this node is cut off
   */
  claim(id: string, claim: NameClaim): Promise<"granted" | "conflict">;
  /** This node has it, as `body` says, with the names that were claimed for it. Told soon; again after an outage. */
  put(id: string, body: string): void;
  /** This node has it no more. */
  remove(id: string): void;
  /** What other nodes have. */
  others(): ReadonlyMap<string, { readonly node: string; readonly body: string }>;
  /** Called with what has changed, in order. */
  subscribe(listener: (news: readonly PresenceNews[]) => void): void;
}

interface Own {
  body: string | undefined;
  /** The database has it as this node's: what it says of it from then on counts. */
  isTold: boolean;
  readonly claims: Map<string, NameClaim>;
}

interface Row {
  readonly id: string;
  readonly node: string;
  readonly change: number;
  readonly body: string | null;
}

/** Entries that one statement tells of. */
const batchEntries = 1000;
/** After a crash of the database every node has told its own again by so many renewals of this one's. */
const renewalsToTell = 5;

export class SharedPresence implements Presence {
  readonly #shared: Shared;
  readonly #lease: Lease;
  readonly #log: Log;
  readonly #own = new Map<string, Own>();
  readonly #others = new Map<string, { readonly node: string; readonly body: string }>();
  readonly #listeners: ((news: readonly PresenceNews[]) => void)[] = [];
  /** What is still to be told: as it is when it is told. */
  readonly #untold = new Set<string>();
  #change = 0;
  /** Under which epoch, and in which life of the unlogged tables, everything of this node was told. */
  #toldEpoch = 0;
  #toldLife = "";
  #isLifeInDoubt = true;
  /** Renewals after which everything is read: others have told theirs anew by then, or are dead. */
  #wholeIn = 0;
  #isTelling = false;
  #isLooking = false;
  #isLookWanted = false;

  constructor(shared: Shared, lease: Lease, log: Log) {
    this.#shared = shared;
    this.#lease = lease;
    this.#log = log;
    lease.onRenewal(() => {
      if (!lease.isHeld()) return;
      this.#isLifeInDoubt = true;
      this.#tellSoon();
    });
  }

  async claim(id: string, claim: NameClaim): Promise<"granted" | "conflict"> {
    const outcome = await this.#claim(id, claim);
    if (outcome === "lost") throw new Error(`claim ${claim.name}: this node is cut off from the others`);
    if (outcome === "granted") this.#ownOf(id).claims.set(claim.name, claim);
    return outcome;
  }

  put(id: string, body: string): void {
    this.#ownOf(id).body = body;
    this.#untold.add(id);
    this.#tellSoon();
  }

  remove(id: string): void {
    if (!this.#own.delete(id)) return;
    this.#untold.add(id);
    this.#tellSoon();
  }

  others(): ReadonlyMap<string, { readonly node: string; readonly body: string }> {
    return this.#others;
  }

  subscribe(listener: (news: readonly PresenceNews[]) => void): void {
    this.#listeners.push(listener);
  }

  /** There may be news of others. */
  look(): void {
    this.#isLookWanted = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#lookWhileWanted().finally(() => (this.#isLooking = false));
  }

  #ownOf(id: string): Own {
    let own = this.#own.get(id);
    if (!own) this.#own.set(id, (own = { body: undefined, isTold: false, claims: new Map() }));
    return own;
  }

  async #claim(
    id: string,
    { name, accountId, credentialId, pool }: NameClaim,
  ): Promise<"granted" | "conflict" | "lost"> {
    const { node, epoch } = this.#lease.fence();
    const [row] = await this.#shared.query<{ outcome: "granted" | "conflict" | "lost" }>(
      "select presence_claim($1, $2, $3, $4, $5, $6, $7) as outcome",
      [node, epoch, name, id, accountId, credentialId, pool ?? null],
    );
    return row?.outcome ?? "lost";
  }

  #tellSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#tell()
      .catch((error: unknown) => this.#log.debug("presence not told", { error }))
      .finally(() => (this.#isTelling = false));
  }

  async #tell(): Promise<void> {
    await new Promise(setImmediate);
    await this.#tellAnew();
    while (this.#untold.size > 0) {
      const { node, epoch } = this.#lease.fence();
      const ids = [...this.#untold].slice(0, batchEntries);
      const puts = [];
      const removed = [];
      for (const id of ids) {
        this.#untold.delete(id);
        const body = this.#own.get(id)?.body;
        if (body === undefined) removed.push(id);
        else puts.push({ id, body });
      }
      const isTold = await this.#shared
        .query<{ told: boolean }>("select presence_write($1, $2, $3, $4) as told", [
          node,
          epoch,
          JSON.stringify(puts),
          removed,
        ])
        .catch((error: unknown) => {
          for (const id of ids) this.#untold.add(id);
          throw error;
        });
      if (isTold[0]?.told) {
        for (const { id } of puts) {
          const own = this.#own.get(id);
          if (own) own.isTold = true;
        }
        continue;
      }
      for (const id of ids) this.#untold.add(id);
      return;
    }
  }

  /** Everything, where others have buried it or the database has lost it; what another node has by now is over here. */
  async #tellAnew(): Promise<void> {
    const { epoch } = this.#lease.fence();
    if (!this.#isLifeInDoubt && epoch === this.#toldEpoch) return;
    const [life] = await this.#shared.query<{ name: string }>(
      "with made as (insert into presence_life values (1, gen_random_uuid()::text) on conflict do nothing returning name) " +
        "select name from made union all select name from presence_life limit 1",
    );
    const name = life?.name ?? "";
    this.#isLifeInDoubt = false;
    if (this.#wholeIn > 0 && (this.#wholeIn -= 1) === 0) await this.#readAll();
    if (epoch === this.#toldEpoch && name === this.#toldLife) return;
    if (this.#toldEpoch !== 0) {
      if (epoch === this.#toldEpoch) this.#wholeIn = renewalsToTell;
      else await this.#readAll();
      if (!(await this.#claimAnew())) return;
    }
    this.#toldEpoch = epoch;
    this.#toldLife = name;
  }

  /** Whether this node could; what another one has by now is over here. */
  async #claimAnew(): Promise<boolean> {
    for (const [id, own] of this.#own) {
      const outcomes = await Promise.all(Array.from(own.claims.values(), (claim) => this.#claim(id, claim)));
      if (outcomes.includes("lost")) return false;
      if (outcomes.includes("conflict")) this.#take([{ what: "taken", id }]);
      else if (own.body !== undefined) {
        own.isTold = false;
        this.#untold.add(id);
      }
    }
    return true;
  }

  async #readAll(): Promise<void> {
    this.#change = 0;
    await this.#read(true);
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#isLookWanted) {
      this.#isLookWanted = false;
      try {
        await this.#read(false);
      } catch (error) {
        this.#log.debug("presence not read", { error });
      }
    }
  }

  /** @param isWhole everything is read: what is not there is over */
  async #read(isWhole: boolean): Promise<void> {
    const { node } = this.#lease.fence();
    const from = this.#change;
    const rows = await this.#shared.query<Row>(
      "select id, node, change, body from presence where change > $1 order by change",
      [from],
    );
    const news: PresenceNews[] = [];
    const there = new Set<string>();
    for (const { id, node: of, change, body } of rows) {
      this.#change = Math.max(this.#change, change);
      const isOwn = of === node;
      if (body !== null && !isOwn) {
        there.add(id);
        if (this.#own.get(id)?.isTold) news.push({ what: "taken", id });
        news.push({ what: "put", id, node: of, body });
      } else if (this.#others.has(id)) news.push({ what: "removed", id });
      else if (!isOwn && this.#own.get(id)?.isTold) news.push({ what: "taken", id });
    }
    if (isWhole) {
      for (const id of this.#others.keys()) if (!there.has(id)) news.push({ what: "removed", id });
    }
    this.#take(news);
  }

  #take(news: readonly PresenceNews[]): void {
    if (news.length === 0) return;
    for (const one of news) {
      if (one.what === "put") this.#others.set(one.id, one);
      else if (one.what === "removed") this.#others.delete(one.id);
      else this.#own.delete(one.id);
    }
    for (const listener of this.#listeners) listener(news);
  }
}
