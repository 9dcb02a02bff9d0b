/** The tables of inboxes, the same in both databases. A released text is never changed; new texts are added at the end. */
import type { InboxEngine } from "./inbox-engine.ts";

const kinds = {
  // Rows of tables with `byKey` are stored in the order of the primary key, without a second tree.
  sqlite: { sequence: "integer primary key autoincrement", bytes: "blob", byKey: "without rowid" },
  postgres: { sequence: "bigint generated always as identity primary key", bytes: "bytea", byKey: "" },
} as const;

export function tablesOf(dialect: InboxEngine["dialect"]): readonly string[] {
  const { sequence, bytes, byKey } = kinds[dialect];
  return [
    `create table if not exists inbox_messages (
      seq ${sequence},
      id text not null unique,
      account_id text not null,
      route_id text not null,
      state text not null,
      received_ms bigint not null,
      due_ms bigint not null,
      attempts integer not null default 0,
      restarted_at integer not null default 0,
      line text,
      holder text,
      lease_ms bigint,
      provider text not null,
      event_type text not null,
      method text not null,
      path text not null,
      source text not null,
      request_id text not null,
      bytes bigint not null,
      status integer,
      error text,
      ended_ms bigint,
      purge_ms bigint
    )`,
    "create index if not exists inbox_due on inbox_messages (route_id, due_ms, seq) where state = 'waiting'",
    `create index if not exists inbox_lines on inbox_messages (route_id, line, seq)
      where line is not null and state in ('waiting', 'blocked', 'sending')`,
    "create index if not exists inbox_leases on inbox_messages (lease_ms) where state = 'sending'",
    "create index if not exists inbox_sending on inbox_messages (route_id) where state = 'sending'",
    "create index if not exists inbox_of_account on inbox_messages (account_id, seq)",
    "create index if not exists inbox_of_route on inbox_messages (route_id, seq)",
    "create index if not exists inbox_states on inbox_messages (account_id, state, seq) where state <> 'delivered'",
    `create index if not exists inbox_backlog on inbox_messages (account_id, route_id, state, received_ms)
      where state in ('waiting', 'blocked', 'sending', 'dead')`,
    "create index if not exists inbox_purge on inbox_messages (purge_ms) where purge_ms is not null",
    `create table if not exists inbox_bodies (seq ${dialect === "sqlite" ? "integer" : "bigint"} primary key,
      sealed ${bytes} not null)`,
    `create table if not exists inbox_attempts (
      seq bigint not null,
      number integer not null,
      at_ms bigint not null,
      duration_ms integer not null,
      status integer,
      error text,
      node text not null,
      primary key (seq, number)
    ) ${byKey}`,
    `create table if not exists inbox_keys (
      route_id text not null,
      key text not null,
      until_ms bigint not null,
      message_id text not null,
      primary key (route_id, key)
    ) ${byKey}`,
    "create index if not exists inbox_keys_by_age on inbox_keys (until_ms)",
    `create table if not exists inbox_usage (
      account_id text primary key,
      messages bigint not null,
      bytes bigint not null
    )`,
    "create table if not exists inbox_pauses (route_id text primary key, account_id text not null, at_ms bigint not null)",
    "create index if not exists inbox_delivered on inbox_messages (account_id, seq) where state = 'delivered'",
  ];
}
