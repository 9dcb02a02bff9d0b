/** What users see of inboxes and do with their messages. */
import { present } from "./inbox-engine.ts";
import type { InboxEngine, InboxStep, InboxRow } from "./inbox-engine.ts";
import type { InboxState } from "./inbox-messages.ts";

/** Every field that is set must match. */
export interface MessageFilter {
  readonly routeId?: string | undefined;
  readonly state?: InboxState | undefined;
  readonly provider?: string | undefined;
  readonly eventType?: string | undefined;
  /** Received at this time or later, milliseconds since 1970. */
  readonly since?: number | undefined;
  /** Part of the path, the event type, the source or an id. */
  readonly text?: string | undefined;
}

export interface MessageRow {
  readonly seq: number;
  readonly id: string;
  readonly routeId: string;
  readonly state: InboxState;
  readonly receivedMs: number;
  readonly dueMs: number;
  readonly attempts: number;
  readonly provider: string;
  readonly eventType: string;
  readonly method: string;
  readonly path: string;
  readonly source: string;
  readonly requestId: string;
  readonly bytes: number;
  readonly status: number | undefined;
  readonly error: string | undefined;
  readonly endedMs: number | undefined;
}

export interface AttemptRow {
  readonly number: number;
  readonly atMs: number;
  readonly durationMs: number;
  readonly status: number | undefined;
  readonly error: string | undefined;
}

export interface Backlog {
  readonly routeId: string;
  /** Not delivered yet: waiting, blocked or being sent. */
  readonly waiting: number;
  readonly dead: number;
  /** When the oldest waiting message arrived, milliseconds since 1970. */
  readonly oldestMs: number | undefined;
  readonly isPaused: boolean;
}

export interface AccountBacklog extends Omit<Backlog, "isPaused"> {
  readonly accountId: string;
}

/** Number of the newest messages among which a filter looks. Older ones are found by state and route. */
const searched = 100_000;
/** Maximum number of waiting messages that are counted for an agent. */
export const maxCounted = 10_000;
/** Number of messages that one transaction deletes, and of all that end at the same time. Webhooks wait meanwhile. */
const purged = 250;
const maxPurged = 1_000_000_000;
/** Maximum number of messages that one call changes. */
export const maxChanged = 10_000;
const columns = `seq, id, route_id, state, received_ms, due_ms, attempts, provider, event_type, method, path, source,
  request_id, bytes, status, error, ended_ms`;
const redelivered: readonly InboxState[] = ["waiting", "dead", "delivered", "refused", "discarded"];
const discarded: readonly InboxState[] = ["waiting", "blocked", "dead"];

export class InboxQueries {
  readonly #engine: InboxEngine;
  readonly #now: string;

  constructor(engine: InboxEngine) {
    this.#engine = engine;
    this.#now = present[engine.dialect];
  }

  /** Returns messages of the account, newest first. */
  async list(
    accountId: string,
    filter: MessageFilter,
    limit: number,
    beforeId?: string,
  ): Promise<readonly MessageRow[]> {
    const { sql, parameters } = selectMessages(columns, accountId, filter, beforeId);
    const rows = await this.#engine.read({
      sql: `${sql} order by seq desc limit ?`,
      parameters: [...parameters, limit],
    });
    return rows.map(messageOf);
  }

  /** Returns the message of the account with this id, if there is one. */
  async find(accountId: string, id: string): Promise<readonly MessageRow[]> {
    const { sql, parameters } = selectMessages(columns, accountId, {}, undefined, id);
    return (await this.#engine.read({ sql, parameters })).map(messageOf);
  }

  async #count(accountId: string, filter: MessageFilter, states: readonly InboxState[]): Promise<number> {
    const { sql, parameters } = selectMessages("seq, state", accountId, filter);
    const [row] = await this.#engine.read({
      sql: `select count(*) as count from (${sql}) as found where state in (${renderStates(states)})`,
      parameters,
    });
    return Number(row?.["count"] ?? 0);
  }

  countDeliverable(accountId: string, filter: MessageFilter): Promise<number> {
    return this.#count(accountId, filter, redelivered);
  }

  countDiscardable(accountId: string, filter: MessageFilter): Promise<number> {
    return this.#count(accountId, filter, discarded);
  }

  async attempts(seq: number): Promise<readonly AttemptRow[]> {
    const sql = "select number, at_ms, duration_ms, status, error from inbox_attempts where seq = ? order by number";
    const rows = await this.#engine.read({ sql, parameters: [seq] });
    return rows.map((row) => ({
      number: Number(row["number"]),
      atMs: Number(row["at_ms"]),
      durationMs: Number(row["duration_ms"]),
      status: numberOf(row["status"]),
      error: textOf(row["error"]),
    }));
  }

  /** Makes messages due now, whether they have ended or not. Returns their routes, one per message. */
  async deliver(accountId: string, filter: MessageFilter & { readonly id?: string }): Promise<readonly string[]> {
    return await this.#change(
      accountId,
      filter,
      redelivered,
      `set restarted_at = case when state = 'waiting' then restarted_at else attempts end, state = 'waiting',
        due_ms = ${this.#now}, ended_ms = null, purge_ms = null`,
    );
  }

  /** Ends messages without delivering them. Returns their routes, one per message. */
  async discard(
    accountId: string,
    filter: MessageFilter & { readonly id?: string },
    retainMs: number,
  ): Promise<readonly string[]> {
    const routes = await this.#change(
      accountId,
      filter,
      discarded,
      `set state = 'discarded', ended_ms = ${this.#now}, purge_ms = ${this.#now} + ${Math.round(retainMs)}`,
    );
    for (const routeId of new Set(routes)) await this.freeLines(routeId);
    return routes;
  }

  /** Lets the first message of each line wait, after messages before it have ended. */
  async freeLines(routeId: string): Promise<void> {
    const step: InboxStep = {
      sql: `update inbox_messages set state = 'waiting' where state = 'blocked' and seq in (select min(seq)
        from inbox_messages where route_id = ? and line is not null and state in ('waiting', 'blocked', 'sending')
        group by route_id, line)`,
      parameters: [routeId],
    };
    await this.#engine.write([step]);
  }

  /** Returns how many messages of the routes are not delivered yet, at most `maxCounted`. */
  async countWaiting(accountId: string, routeIds: readonly string[]): Promise<number> {
    if (routeIds.length === 0) return 0;
    const routes = routeIds.map(() => "?").join(", ");
    const [row] = await this.#engine.read({
      sql: `select count(*) as count from (select 1 from inbox_messages where account_id = ? and route_id in (${routes})
        and state in ('waiting', 'blocked', 'sending') limit ${maxCounted}) as found`,
      parameters: [accountId, ...routeIds],
    });
    return Number(row?.["count"] ?? 0);
  }

  /** Returns the routes of the account with messages that wait or are dead, and paused routes. */
  async backlogs(accountId: string): Promise<readonly Backlog[]> {
    const rows = await this.#engine.read({
      sql: `select route_id, state, count(*) as count, min(received_ms) as oldest from inbox_messages
        where account_id = ? and state in ('waiting', 'blocked', 'sending', 'dead')
        group by route_id, state`,
      parameters: [accountId],
    });
    const paused = await this.pauses(accountId);
    const found = new Map<string, { waiting: number; dead: number; oldestMs: number | undefined }>();
    for (const routeId of paused) found.set(routeId, { waiting: 0, dead: 0, oldestMs: undefined });
    for (const row of rows) {
      const routeId = String(row["route_id"]);
      const one = found.get(routeId) ?? { waiting: 0, dead: 0, oldestMs: undefined };
      found.set(routeId, one);
      if (row["state"] === "dead") one.dead += Number(row["count"]);
      else {
        one.waiting += Number(row["count"]);
        one.oldestMs = Math.min(one.oldestMs ?? Infinity, Number(row["oldest"]));
      }
    }
    return [...found].map(([routeId, one]) => ({ routeId, ...one, isPaused: paused.has(routeId) }));
  }

  /** Returns what waits and what is dead, by route. */
  async allBacklogs(): Promise<readonly AccountBacklog[]> {
    const rows = await this.#engine.read({
      sql: `select account_id, route_id, sum(case when state = 'dead' then 0 else 1 end) as waiting,
          sum(case when state = 'dead' then 1 else 0 end) as dead,
          min(case when state = 'dead' then null else received_ms end) as oldest
        from inbox_messages where state in ('waiting', 'blocked', 'sending', 'dead')
        group by account_id, route_id`,
      parameters: [],
    });
    return rows.map((row) => ({
      accountId: String(row["account_id"]),
      routeId: String(row["route_id"]),
      waiting: Number(row["waiting"]),
      dead: Number(row["dead"]),
      oldestMs: numberOf(row["oldest"]),
    }));
  }

  /** Returns the paused routes, of one account or of all. */
  async pauses(accountId?: string): Promise<ReadonlySet<string>> {
    const all = "select route_id from inbox_pauses";
    const rows = await this.#engine.read(
      accountId === undefined
        ? { sql: all, parameters: [] }
        : { sql: `${all} where account_id = ?`, parameters: [accountId] },
    );
    return new Set(rows.map((row) => String(row["route_id"])));
  }

  async pause(routeId: string, accountId: string): Promise<void> {
    const sql = `insert into inbox_pauses (route_id, account_id, at_ms) values (?, ?, ${this.#now})
      on conflict (route_id) do nothing`;
    await this.#engine.write([{ sql, parameters: [routeId, accountId] }]);
  }

  async resume(routeId: string): Promise<void> {
    await this.#engine.write([{ sql: "delete from inbox_pauses where route_id = ?", parameters: [routeId] }]);
  }

  /** Deletes messages that were kept long enough, and old names. Returns whether more may follow. */
  async purge(): Promise<boolean> {
    const due = await this.#engine.read({
      sql: `select purge_ms from inbox_messages where purge_ms <= ${this.#now} order by purge_ms limit ${purged}`,
      parameters: [],
    });
    const last = due.at(-1)?.["purge_ms"];
    const forget: InboxStep = { sql: `delete from inbox_keys where until_ms <= ${this.#now}`, parameters: [] };
    if (last === undefined) {
      await this.#engine.write([forget]);
      return false;
    }
    const old = "select seq from inbox_messages where purge_ms <= ?";
    await this.#engine.write([
      {
        // The limit has both databases read only the old messages, in this order, instead of all by account.
        sql: `update inbox_usage set messages = inbox_usage.messages - gone.messages,
          bytes = inbox_usage.bytes - gone.bytes
          from (select account_id, count(*) as messages, sum(bytes) as bytes
            from (select account_id, bytes from inbox_messages where purge_ms <= ? order by purge_ms limit ${maxPurged})
              as old group by account_id) as gone
          where gone.account_id = inbox_usage.account_id`,
        parameters: [last],
      },
      { sql: `delete from inbox_bodies where seq in (${old})`, parameters: [last] },
      { sql: `delete from inbox_attempts where seq in (${old})`, parameters: [last] },
      { sql: "delete from inbox_messages where purge_ms <= ?", parameters: [last] },
      forget,
    ]);
    return due.length === purged;
  }

  async #change(
    accountId: string,
    { id, ...filter }: MessageFilter & { readonly id?: string },
    states: readonly InboxState[],
    change: string,
  ): Promise<readonly string[]> {
    const { sql, parameters } = selectMessages("seq, state", accountId, filter, undefined, id);
    const [rows = []] = await this.#engine.write([
      {
        sql: `update inbox_messages ${change} where state in (${renderStates(states)}) and seq in (
          select seq from (${sql}) as found where state in (${renderStates(states)}) order by seq limit ${maxChanged})
          returning route_id`,
        parameters,
      },
    ]);
    return rows.map((row) => String(row["route_id"]));
  }
}

function renderStates(states: readonly InboxState[]): string {
  return states.map((state) => `'${state}'`).join(", ");
}

/** Returns a select of the account's matching messages, without order. */
function selectMessages(
  what: string,
  accountId: string,
  { routeId, state, provider, eventType, since, text }: MessageFilter,
  beforeId?: string,
  id?: string,
): InboxStep {
  const indexed: (readonly [sql: string, ...values: unknown[]])[] = [["account_id = ?", accountId]];
  if (id !== undefined) indexed.push(["id = ?", id]);
  if (routeId !== undefined) indexed.push(["route_id = ?", routeId]);
  if (state !== undefined)
    indexed.push(state === "delivered" ? ["state = 'delivered'"] : ["state = ? and state <> 'delivered'", state]);
  if (beforeId !== undefined) indexed.push(["seq < (select seq from inbox_messages where id = ?)", beforeId]);
  const scanned: (readonly [sql: string, ...values: unknown[]])[] = [];
  if (provider !== undefined) scanned.push(["provider = ?", provider]);
  if (eventType !== undefined) scanned.push(["event_type = ?", eventType]);
  if (since !== undefined) scanned.push(["received_ms >= ?", since]);
  if (text !== undefined) {
    const part = `%${text.toLowerCase().replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    const like = (column: string): string => String.raw`lower(${column}) like ? escape '\'`;
    scanned.push([
      `(${["path", "event_type", "source"].map(like).join(" or ")} or id = ? or request_id = ?)`,
      part,
      part,
      part,
      text,
      text,
    ]);
  }
  const conditions = (all: typeof indexed): string => all.map(([sql]) => sql).join(" and ");
  const values = (all: typeof indexed): unknown[] => all.flatMap(([, ...given]) => given);
  const first = `from inbox_messages where ${conditions(indexed)}`;
  if (scanned.length === 0) return { sql: `select ${what} ${first}`, parameters: values(indexed) };
  return {
    sql: `select ${what} from (select * ${first} order by seq desc limit ${searched}) as newest where ${conditions(scanned)}`,
    parameters: [...values(indexed), ...values(scanned)],
  };
}

function messageOf(row: InboxRow): MessageRow {
  return {
    seq: Number(row["seq"]),
    id: String(row["id"]),
    routeId: String(row["route_id"]),
    state: row["state"] as InboxState,
    receivedMs: Number(row["received_ms"]),
    dueMs: Number(row["due_ms"]),
    attempts: Number(row["attempts"]),
    provider: String(row["provider"]),
    eventType: String(row["event_type"]),
    method: String(row["method"]),
    path: String(row["path"]),
    source: String(row["source"]),
    requestId: String(row["request_id"]),
    bytes: Number(row["bytes"]),
    status: numberOf(row["status"]),
    error: textOf(row["error"]),
    endedMs: numberOf(row["ended_ms"]),
  };
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
