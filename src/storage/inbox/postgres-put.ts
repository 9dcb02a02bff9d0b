/** The statement that stores new messages in PostgreSQL, whatever their number. */
import { present } from "./inbox-engine.ts";

const now = present.postgres;

/**
 * Parameters: the text and the bytes of `PackedMessages`. Returns the ids of the messages that are no duplicates. Keys and
 * accounts are written in their order, so that nodes wait for each other instead of in a circle.
 */
export const putMessages = `with packed as (
    select * from json_to_recordset($1::json) as one (id text, "accountId" text, "routeId" text, provider text,
      "eventType" text, method text, path text, source text, "requestId" text, key text, "keyMs" bigint, line text,
      bytes bigint, at integer, length integer)
  ), keyed as (
    insert into inbox_keys (route_id, key, until_ms, message_id)
    select * from (
      select distinct on ("routeId", key) "routeId", key, ${now} + "keyMs", id from packed where key <> ''
      order by "routeId", key, at
    ) as firsts
    on conflict (route_id, key) do update set until_ms = excluded.until_ms, message_id = excluded.message_id
    where inbox_keys.until_ms <= ${now}
    returning message_id
  ), fresh as (
    select * from packed where key = '' or id in (select message_id from keyed)
  ), stored as (
    insert into inbox_messages (id, account_id, route_id, state, received_ms, due_ms, line, provider, event_type, method,
      path, source, request_id, bytes)
    select id, "accountId", "routeId", case when line is not null and (
        row_number() over (partition by "routeId", line order by at) > 1
        or exists (select 1 from inbox_messages as earlier where earlier.route_id = fresh."routeId"
          and earlier.line = fresh.line and earlier.state in ('waiting', 'blocked', 'sending'))
      ) then 'blocked' else 'waiting' end, ${now}, ${now}, line, provider, "eventType", method, path, source, "requestId",
      bytes
    from fresh order by at
    returning seq, id, account_id, bytes
  ), bodies as (
    insert into inbox_bodies (seq, sealed)
    select seq, substring($2::bytea from at + 1 for length) from stored join packed using (id)
  ), usages as (
    insert into inbox_usage (account_id, messages, bytes)
    select account_id, count(*), sum(bytes) from stored group by account_id order by account_id
    on conflict (account_id) do update set messages = inbox_usage.messages + excluded.messages,
      bytes = inbox_usage.bytes + excluded.bytes
  ) select id from stored`;
