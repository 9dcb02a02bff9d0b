/** Stores, leases and ends the messages of inboxes. */
import { readPayload } from "../../lib/inbox-payload.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { Batches } from "./batches.ts";
import { present } from "./inbox-engine.ts";
import { InboxQueries } from "./inbox-queries.ts";
import type { InboxEngine, InboxStep, InboxRow } from "./inbox-engine.ts";
import type { AttemptResult, ClaimedMessage, NewMessage, SealedMessage, DeliveryVerdict } from "./inbox-messages.ts";
import { statementsFor } from "./statements.ts";
import type { Statements } from "./statements.ts";

export interface Usage {
  readonly messages: number;
  readonly bytes: number;
}

/** A node renews its leases in a fraction of this time. */
export const leaseMs = 6_000;

export class InboxStore {
  readonly engine: InboxEngine;
  readonly queries: InboxQueries;
  /** Identifies this process in leases. */
  readonly #holder: string;
  readonly #sealerOf: (accountId: string) => Sealer;
  readonly #batches: Batches;
  readonly #statements: Statements;

  constructor(engine: InboxEngine, sealerOf: (accountId: string) => Sealer, holder: string) {
    this.engine = engine;
    this.queries = new InboxQueries(engine);
    this.#holder = holder;
    this.#sealerOf = sealerOf;
    this.#batches = new Batches(engine);
    this.#statements = statementsFor(present[engine.dialect], engine.dialect);
  }

  /** Resolves once the messages are on disk, or were found to be duplicates of others that are. */
  async put(messages: readonly NewMessage[]): Promise<readonly ("stored" | "duplicate")[]> {
    const sealed = messages.map(({ payload, ...rest }): SealedMessage => {
      const { accountId, id } = rest;
      const text = this.#sealerOf(accountId).sealBytes(payload, contextOf(accountId, id));
      return { ...rest, bytes: payload.length, sealed: text };
    });
    const locks = messages.flatMap(({ routeId, line }) => (line === undefined ? [] : [lockOf(routeId, line)]));
    const rows = await this.#batches.write({ steps: [], locks, messages: sealed });
    const stored = new Set(rows.at(-1)?.map(({ id }) => id));
    return messages.map(({ id }) => (stored.has(id) ? "stored" : "duplicate"));
  }

  /** Takes up to `limit` messages of a route that are due, while fewer than `concurrency` of it are under way. */
  async claim(routeId: string, limit: number, concurrency: number): Promise<readonly ClaimedMessage[]> {
    const parameters = [this.#holder, leaseMs, routeId, limit, concurrency, routeId];
    const [rows = []] = await this.#batches.write({ steps: [{ sql: this.#statements.claim, parameters }] });
    return rows.map(toClaimedMessage).sort((one, other) => one.seq - other.seq);
  }

  /** Returns a message's request. Throws if it was deleted meanwhile. */
  async payload({ seq, accountId, id }: Pick<ClaimedMessage, "seq" | "accountId" | "id">) {
    const [row] = await this.engine.read({ sql: "select sealed from inbox_bodies where seq = ?", parameters: [seq] });
    if (!row) throw new Error(`read inbox message ${id}: its body is missing`);
    return readPayload(
      this.#sealerOf(accountId).openBytes(Buffer.from(row["sealed"] as Uint8Array), contextOf(accountId, id)),
    );
  }

  /** Stores the result of an attempt, unless the lease was lost. */
  async settle(message: ClaimedMessage, result: AttemptResult, verdict: DeliveryVerdict): Promise<void> {
    const { seq, routeId, line, attempt } = message;
    const { status = null, error = null, durationMs } = result;
    const mine = [seq, this.#holder, attempt];
    const { putAttempt, retry, giveBack, end, promote } = this.#statements;
    const ended = verdict.is !== "retry" && verdict.is !== "return";
    const steps: InboxStep[] = [];
    if (verdict.is === "return") steps.push({ sql: giveBack, parameters: [error, ...mine] });
    else {
      const duration = Math.round(durationMs);
      const facts = [attempt, duration, duration, status, error, this.#holder];
      steps.push({ sql: putAttempt, parameters: [...facts, ...mine] });
      steps.push(
        verdict.is === "retry"
          ? { sql: retry, parameters: [verdict.afterMs, status, error, ...mine] }
          : { sql: end, parameters: [verdict.is, status, error, purgeAfter(verdict), ...mine] },
      );
    }
    const isLined = ended && line !== undefined;
    if (isLined) steps.push({ sql: promote, parameters: [routeId, line] });
    await this.#batches.write({ steps, locks: isLined ? [lockOf(routeId, line)] : [] });
  }

  /** Extends the leases of this process. Frees messages whose lease has expired. */
  async keepLeases(): Promise<void> {
    const { renew, free } = this.#statements;
    await this.#batches.write({
      steps: [
        { sql: renew, parameters: [leaseMs, this.#holder] },
        { sql: free, parameters: [] },
      ],
    });
  }

  /** Frees all messages that another process of a lone server was delivering when it ended. */
  async takeOver(): Promise<void> {
    await this.#batches.write({ steps: [{ sql: this.#statements.freeOthers, parameters: [this.#holder] }] });
  }

  /** Returns the routes with messages to deliver. */
  async routes(): Promise<readonly string[]> {
    const rows = await this.engine.read({ sql: this.#statements.routes, parameters: [] });
    return rows.map((row) => String(row["route_id"]));
  }

  /** Returns the milliseconds until the route's next message is due; undefined if none waits. */
  async nextDue(routeId: string): Promise<number | undefined> {
    const [row] = await this.engine.read({ sql: this.#statements.nextDue, parameters: [routeId] });
    const wait = row?.["wait"];
    return wait === null || wait === undefined ? undefined : Number(wait);
  }

  /** Returns what each account stores. */
  async usage(): Promise<ReadonlyMap<string, Usage>> {
    const rows = await this.engine.read({ sql: "select account_id, messages, bytes from inbox_usage", parameters: [] });
    return new Map(rows.map((row) => [String(row["account_id"]), usageOf(row)]));
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}

function usageOf(row: InboxRow): Usage {
  return { messages: Number(row["messages"]), bytes: Number(row["bytes"]) };
}

function toClaimedMessage(row: InboxRow): ClaimedMessage {
  const attempt = Number(row["attempts"]);
  return {
    seq: Number(row["seq"]),
    id: String(row["id"]),
    accountId: String(row["account_id"]),
    routeId: String(row["route_id"]),
    attempt,
    counted: attempt - Number(row["restarted_at"]),
    line: (row["line"] as string | null) ?? undefined,
    bytes: Number(row["bytes"]),
  };
}

/** Dead messages are kept until a user deals with them. */
function purgeAfter(verdict: { readonly is: string; readonly retainMs: number }): number | null {
  return verdict.is === "dead" ? null : verdict.retainMs;
}

function lockOf(routeId: string, line: string): string {
  return `${routeId} ${line}`;
}

function contextOf(accountId: string, id: string): string {
  return `inbox\0${accountId}\0${id}`;
}
