/** Presence in the tables that nodes share: what is here is told in batches, what others have read by the number of changes. */
import { letGo } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Shared } from "../database/database.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { makeNameQuestions } from "./claims.ts";
import type { AskForName } from "./claims.ts";
import type { Lease } from "./lease.ts";
import type { ClaimOutcome, NameClaim, Presence, PresenceFollower, PresenceNews, ServedName } from "./presence.ts";

interface Own {
  readonly body: string;
  readonly name: ServedName | undefined;
  /** When the agent opened it here, see `Clock.monotonic`: a change of it does not make it newer. */
  readonly openedAt: number;
  /** The database has it as this node's: what it says of it from then on counts. */
  isTold: boolean;
}

interface Row {
  readonly id: string;
  readonly node: string;
  readonly change: number;
  readonly body: string | null;
}

export interface PresenceOptions {
  readonly shared: Shared;
  readonly lease: Lease;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
}

/** Entries that one statement tells of. */
const batchEntries = 1000;
/** After a crash of the database every node has told its own again by so many renewals of this one's. */
const renewalsToTell = 5;

export class SharedPresence implements Presence {
  readonly #shared: Shared;
  readonly #lease: Lease;
  readonly #sealer: Sealer;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #askForName: AskForName;
  readonly #own = new Map<string, Own>();
  #follower: PresenceFollower | undefined;
  /** What came before anybody followed. */
  #unheard: PresenceNews[] = [];
  /** What is still to be told: as it is when it is told. */
  #untold = new Set<string>();
  readonly #dropped = new Map<string, { readonly id: string; readonly name: string }>();
  readonly #tellers: ((change: number) => void)[] = [];
  #change = 0;
  /** Under which epoch, and in which life of the unlogged tables, everything of this node was told. */
  #toldEpoch = 0;
  #toldLife = "";
  #isLifeInDoubt = true;
  /** Renewals after which everything is read: others have told theirs anew by then, or are dead. */
  #wholeIn = 0;
  #isTelling = false;
  /** One read at a time, and the one that whoever asks now gets. */
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

  claim(id: string, claim: NameClaim): Promise<ClaimOutcome> {
    return this.#askForName(id, claim);
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

  /** There may be news of others. */
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
        // What came since the last look; what could not be told waits for the next renewal.
        if (isAllTold && this.#hasNews()) this.#tellSoon();
      });
    letGo("task", telling);
  }

  #hasNews(): boolean {
    return this.#untold.size + this.#dropped.size + this.#tellers.length > 0;
  }

  /** Whether nothing was left; false when this node is cut off. */
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
          // What is told rests on what was told before.
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

  /** Undefined when this node is cut off. */
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
    // Those of other nodes that made way are over.
    if (puts.some(({ own }) => own.name)) this.look();
    return change;
  }

  /** Others have these, or their names. What was opened here anew since is told of next. */
  async #giveUp(refused: readonly { readonly id: string; readonly own: Own }[]): Promise<void> {
    if (refused.length === 0) return;
    // An agent that has moved is known to be elsewhere before it is said to have gone from here.
    await this.refresh();
    const isStill = ({ id, own }: (typeof refused)[number]): boolean => this.#own.get(id)?.openedAt === own.openedAt;
    this.#take(refused.filter(isStill).map(({ id }) => ({ what: "taken", id })));
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

  /** @param isWhole everything is read: what is not there is over */
  async #read(isWhole: boolean): Promise<void> {
    const { node } = this.#lease.fence();
    const from = this.#change;
    const rows = await this.#shared.query<Row>(
      "select id, node, change, case when node = $2 and body is not null then '' else body end as body " +
        "from presence where change > $1 order by change",
      [from, node],
    );
    const news: PresenceNews[] = [];
    const there = new Set<string>();
    for (const { id, node: of, change, body } of rows) {
      this.#change = Math.max(this.#change, change);
      const isOwn = of === node;
      const isTold = this.#own.get(id)?.isTold === true;
      if (body !== null && !isOwn) {
        there.add(id);
        if (isTold) news.push({ what: "taken", id });
        const opened = this.#open(id, body);
        if (opened !== undefined) news.push({ what: "put", id, node: of, body: opened });
      } else if (this.#follower?.has(id) ?? !isTold) news.push({ what: "removed", id });
      else if (!isOwn && isTold) news.push({ what: "taken", id });
    }
    if (isWhole) {
      this.#unheard = [];
      for (const id of this.#follower?.ids() ?? []) if (!there.has(id)) news.push({ what: "removed", id });
    }
    this.#take(news);
  }

  /** Undefined for what no node has written. */
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

/** What an entry's sealed body is bound to. */
function contextOf(id: string): string {
  return `presence\0${id}`;
}
