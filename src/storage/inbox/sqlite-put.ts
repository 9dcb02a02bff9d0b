/** Stores new messages in SQLite, within a transaction of the caller. */
import type { SQLInputValue, StatementResultingChanges, StatementSync } from "node:sqlite";
import type { InboxRow } from "./inbox-engine.ts";
import { present } from "./inbox-engine.ts";
import type { PackedMessage, PackedMessages } from "./packed-messages.ts";

const now = `select ${present.sqlite} as now`;
/** Changes a row unless the message is a duplicate. */
const putKey = `insert into inbox_keys (route_id, key, until_ms, message_id) values (?, ?, ?, ?)
  on conflict (route_id, key) do update set until_ms = excluded.until_ms, message_id = excluded.message_id
  where inbox_keys.until_ms <= ?`;
const isBlocked = `select 1 from inbox_messages where route_id = ? and line = ?
  and state in ('waiting', 'blocked', 'sending') limit 1`;
const putMessage = `insert into inbox_messages (id, account_id, route_id, state, received_ms, due_ms, line, provider,
    event_type, method, path, source, request_id, bytes)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const putBody = "insert into inbox_bodies (seq, sealed) values (?, ?)";
const putUsage = `insert into inbox_usage (account_id, messages, bytes) values (?, ?, ?)
  on conflict (account_id) do update set messages = inbox_usage.messages + excluded.messages,
    bytes = inbox_usage.bytes + excluded.bytes`;

interface Usage {
  messages: number;
  bytes: number;
}

/**
 * Returns the ids of the messages that are no duplicates.
 * @param statement prepares a text once
 */
export function putIn(
  statement: (sql: string) => StatementSync,
  { text, sealed }: PackedMessages,
): readonly InboxRow[] {
  const run = (sql: string, ...parameters: SQLInputValue[]): StatementResultingChanges =>
    statement(sql).run(...parameters);
  const { now: nowMs } = statement(now).get() as { readonly now: number };
  const usages = new Map<string, Usage>();
  const stored: InboxRow[] = [];
  for (const message of JSON.parse(text) as readonly PackedMessage[]) {
    const { id, accountId, routeId, key, line, bytes, at } = message;
    if (key !== "" && run(putKey, routeId, key, nowMs + message.keyMs, id, nowMs).changes === 0) continue;
    const state = line !== undefined && statement(isBlocked).get(routeId, line) ? "blocked" : "waiting";
    const { provider, eventType, method, path, source, requestId } = message;
    const facts = [line ?? null, provider, eventType, method, path, source, requestId, bytes];
    const { lastInsertRowid: seq } = run(putMessage, id, accountId, routeId, state, nowMs, nowMs, ...facts);
    run(putBody, seq, sealed.subarray(at, at + message.length));
    const usage = usages.get(accountId) ?? { messages: 0, bytes: 0 };
    usages.set(accountId, { messages: usage.messages + 1, bytes: usage.bytes + bytes });
    stored.push({ id });
  }
  for (const [accountId, { messages, bytes }] of usages) run(putUsage, accountId, messages, bytes);
  return stored;
}
