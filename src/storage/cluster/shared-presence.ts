/**
 * Presence in the tables that nodes share. This node writes its entries in batches, and reads the others' by the number
 * of changes.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { SharedDatabase } from "../database/database.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { makeNameQuestions } from "./name-questions.ts";
import type { AskForName } from "./name-questions.ts";
import type { Lease } from "./lease.ts";
import type { ClaimOutcome, NameClaim, Presence, PresenceFollower, PresenceNews, ServedName } from "./presence.ts";

interface Own {
  readonly body: string;
  readonly name: ServedName | undefined;
  /** When the agent opened the entry here, see `Clock.monotonic`. Changes of the entry do not update this time. */
  readonly openedAt: number;
  /** Whether the database has the entry as this node's. From then on the database decides about it. */
  isTold: boolean;
}

interface PresenceRow {
  readonly id: string;
  readonly node: string;
  readonly change: number;
  readonly body: string | null;
  /** Whether the entry has ended with the lease of its node. */
  readonly lapsed: boolean;
}

export interface PresenceOptions {
  readonly shared: SharedDatabase;
  readonly lease: Lease;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
}

/** Maximum entries in one statement. */
const batchEntries = 1000;
/**
 * Number of renewals of this node after which every node has written its entries again, following a crash of the
 * database.
 */
const renewalsToTell = 5;

export class SharedPresence implements Presence {
  readonly #shared: SharedDatabase;
  readonly #lease: Lease;
  readonly #sealer: Sealer;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #askForName: AskForName;
  readonly #own = new Map<string, Own>();
  #follower: PresenceFollower | undefined;
  /** Changes from before the follower was set. */
  #unheard: PresenceNews[] = [];
  /** Entries still to be written, in their state at that time. */
  #untold = new Set<string>();
  readonly #dropped = new Map<string, { readonly id: string; readonly name: string }>();
  readonly #tellers: ((change: number) => void)[] = [];
  #change = 0;
  /** Epoch, and generation of the unlogged tables, in which all entries of this node were written. */
  #toldEpoch = 0;
  #toldLife = "";
  #isLifeInDoubt = true;
  /** Renewals until everything is read. By then, other nodes have written their entries again, or are dead. */
  #wholeIn = 0;
  #isTelling = false;
  /** One read at a time. Concurrent callers share the next one. */
  #reading: Promise<void> = Promise.resolve();
  #nextRead: Promise<void> | undefined;

  constructor({ shared, lease, sealer, clock, log }: PresenceOptions) {
    this.#shared = shared;
    this.#lease = lease;
    this.#sealer = sealer;
    this.#clock = clock;
    this.#log = log;
    this.#askForName = makeNameQuestions(shared, lease);
    lease.onRenewal(() => {
      if (!lease.isHeld()) return;
      this.#isLifeInDoubt = true;
      this.#tellSoon();
    });
  }

  get change(): number {
    return this.#change;
  }

  async claim(id: string, claim: NameClaim): Promise<ClaimOutcome> {
    if (this.#lease.isCutOff()) return "lost";
    return await this.#askForName(id, claim);
  }

  drop(id: string, name: string): void {
    this.#dropped.set(`${id} ${name}`, { id, name });
    this.#tellSoon();
  }

  put(id: string, body: string, name?: ServedName): void {
    if (name) this.#dropped.delete(`${id} ${name.name}`);
    const { openedAt = this.#clock.monotonic(), isTold = false } = this.#own.get(id) ?? {};
    this.#own.set(id, { body, name, openedAt, isTold });
    this.#untold.add(id);
    this.#tellSoon();
  }

  remove(id: string): void {
    if (!this.#own.delete(id)) return;
    this.#untold.add(id);
    this.#tellSoon();
  }

  told(): Promise<number> {
    return new Promise((resolve) => {
      this.#tellers.push(resolve);
      this.#tellSoon();
    });
  }

  refresh(): Promise<void> {
    this.#nextRead ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#nextRead = undefined;
        return this.#read(false);
      });
    this.#reading = this.#nextRead;
    return this.#nextRead;
  }

  follow(follower: PresenceFollower): void {
    this.#follower = follower;
    const unheard = this.#unheard;
    this.#unheard = [];
    if (unheard.length > 0) follower.heard(unheard);
  }

  /** Called when other nodes may have changed entries. */
  look(): void {
    this.refresh().catch((error: unknown) => this.#log.debug("presence not read", { error }));
  }

  #tellSoon(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    const telling = this.#tell()
      .catch((error: unknown) => {
        this.#log.debug("presence not sent", { error });
        return false;
      })
      .then((isAllTold) => {
        this.#isTelling = false;
        // Writes changes since the last look. If that fails, they wait for the next renewal.
        if (isAllTold && this.#hasNews()) this.#tellSoon();
      });
    runUnattended("task", telling);
  }

  #hasNews(): boolean {
    return this.#untold.size + this.#dropped.size + this.#tellers.length > 0;
  }

  /** Returns whether all entries are written; false if this node is cut off. */
  async #tell(): Promise<boolean> {
    await new Promise(setImmediate);
    await this.#tellAnew();
    while (this.#hasNews()) {
      const ids = [...this.#untold].slice(0, batchEntries);
      const dropped = [...this.#dropped];
      const tellers = ids.length === this.#untold.size ? this.#tellers.splice(0) : [];
      for (const id of ids) this.#untold.delete(id);
      for (const [key] of dropped) this.#dropped.delete(key);
      let change: number | undefined;
      try {
        change = await this.#write(
          ids,
          Array.from(dropped, ([, one]) => one),
        );
      } finally {
        if (change === undefined) {
          // These changes build on earlier ones.
          this.#untold = new Set([...ids, ...this.#untold]);
          for (const [key, one] of dropped) this.#dropped.set(key, one);
          this.#tellers.unshift(...tellers);
        }
      }
      if (change === undefined) return false;
      for (const resolve of tellers) resolve(change);
    }
    return true;
  }

  /** Returns undefined if this node is cut off. */
  async #write(ids: readonly string[], dropped: readonly object[]): Promise<number | undefined> {
    const { node, epoch } = this.#lease.fence();
    const puts = [];
    const removed = [];
    for (const id of ids) {
      const own = this.#own.get(id);
      if (!own) {
        removed.push(id);
        continue;
      }
      const { name, accountId, pool } = own.name ?? {};
      puts.push({
        id,
        own,
        row: {
          id,
          body: this.#sealer.seal(own.body, contextOf(id)),
          name,
          account_id: accountId,
          pool,
          opened: this.#lease.databaseTimeAt(own.openedAt),
        },
      });
    }
    const [answer] = await this.#shared.query<{
      told: { readonly change: number; readonly refused: readonly string[] } | null;
    }>("select presence_write($1, $2, $3, $4, $5) as told", [
      node,
      epoch,
      JSON.stringify(puts.map(({ row }) => row)),
      removed,
      JSON.stringify(dropped),
    ]);
    if (!answer?.told) return undefined;
    const { change, refused } = answer.told;
    for (const { own } of puts) own.isTold = true;
    await this.#giveUp(puts.filter(({ id }) => refused.includes(id)));
    // Replaced entries of other nodes have ended.
    if (puts.some(({ own }) => own.name)) this.look();
    return change;
  }

  /**
   * Ends entries that other nodes have, or whose names they have. Entries opened again here since then are written
   * next.
   */
  async #giveUp(refused: readonly { readonly id: string; readonly own: Own }[]): Promise<void> {
    if (refused.length === 0) return;
    // When an agent moves, its new node must be known before its entry here is reported as removed.
    await this.refresh();
    const isStill = ({ id, own }: (typeof refused)[number]): boolean => this.#own.get(id)?.openedAt === own.openedAt;
    this.#take(refused.filter(isStill).map(({ id }) => ({ what: "taken", id })));
  }

  /**
   * Writes all entries again, if other nodes have deleted them or the database has lost them. Entries that another node
   * has by now end here.
   */
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
      for (const own of this.#own.values()) own.isTold = false;
      this.#untold = new Set([...this.#own.keys(), ...this.#untold]);
    }
    this.#toldEpoch = epoch;
    this.#toldLife = name;
  }

  async #readAll(): Promise<void> {
    this.#change = 0;
    await this.#read(true);
  }

  /** @param isWhole whether to read everything: missing entries have lapsed */
  async #read(isWhole: boolean): Promise<void> {
    const { node } = this.#lease.fence();
    const presentIds = new Set<string>();
    if (isWhole) this.#unheard = [];
    for (;;) {
      const rows = await this.#shared.query<PresenceRow>("select * from presence_since($1, $2, $3)", [
        node,
        this.#change,
        batchEntries,
      ]);
      for (const { id, node: of, body } of rows) if (body !== null && of !== node) presentIds.add(id);
      this.#take(rows.flatMap((row) => this.#newsOf(row)));
      if (rows.length < batchEntries) break;
    }
    if (!isWhole) return;
    const missing = Array.from(this.#follower?.ids() ?? []).filter((id) => !presentIds.has(id));
    this.#take(missing.map((id) => ({ what: "lapsed", id })));
  }

  #newsOf({ id, node, change, body, lapsed }: PresenceRow): PresenceNews[] {
    this.#change = Math.max(this.#change, change);
    const isOwn = node === this.#lease.fence().node;
    const isTold = this.#own.get(id)?.isTold === true;
    if (body !== null && !isOwn) {
      const opened = this.#open(id, body);
      const news: PresenceNews[] = isTold ? [{ what: "taken", id }] : [];
      return opened === undefined ? news : [...news, { what: "put", id, node, body: opened }];
    }
    if (this.#follower?.has(id) ?? !isTold) return [{ what: lapsed && !isOwn ? "lapsed" : "removed", id }];
    return !isOwn && isTold ? [{ what: "taken", id }] : [];
  }

  /** Returns undefined for a body that no node has written. */
  #open(id: string, sealed: string): string | undefined {
    try {
      return this.#sealer.open(sealed, contextOf(id));
    } catch (error) {
      this.#log.error("presence of another node is invalid", { entry: id, error });
      return undefined;
    }
  }

  #take(news: readonly PresenceNews[]): void {
    if (news.length === 0) return;
    for (const { what, id } of news) if (what === "taken") this.#own.delete(id);
    if (this.#follower) this.#follower.heard(news);
    else this.#unheard.push(...news);
  }
}

/** Context to which an entry's sealed body is bound. */
function contextOf(id: string): string {
  return `presence\0${id}`;
}
