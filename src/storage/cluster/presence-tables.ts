/**
 * Which node has which session, tunnel and public name: unlogged, since a crash of the database leaves the nodes, which
 * tell everything anew. Everything that writes goes through these functions, one at a time, so that the numbers of changes
 * become visible in their order.
 */
import { sql } from "kysely";
import type { Transaction } from "../database/database.ts";

/** Held while presence is written; any number that nothing else in the same database uses. */
const writeKey = "7205759403792796";

const texts = [
  "create sequence presence_changes",
  "create unlogged table presence_life (id integer primary key, name text not null)",
  `create unlogged table presence (
    id text collate "C" primary key,
    node text collate "C" not null,
    epoch bigint not null,
    change bigint not null,
    at timestamptz not null,
    body text
  )`,
  "create unique index presence_by_change on presence (change)",
  `create unlogged table presence_names (
    name text collate "C" not null,
    entry text collate "C" not null,
    node text collate "C" not null,
    epoch bigint not null,
    account_id text collate "C" not null,
    credential_id text collate "C" not null,
    pool text,
    primary key (name, entry)
  )`,
  // Entries that are over stay for a while without a body, so that others learn of it.
  `create function presence_end(ended text[]) returns void language plpgsql as $$
  begin
    update presence set body = null, at = clock_timestamp(), change = nextval('presence_changes')
      where id = any(ended) and body is not null;
    delete from presence_names where entry = any(ended);
  end $$`,
  `create function presence_write(of_node text, of_epoch bigint, puts jsonb, removed text[]) returns boolean
  language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(${writeKey});
    perform 1 from nodes where id = of_node and epoch = of_epoch for key share;
    if not found then return false; end if;
    perform presence_end(array(select id from presence where id = any(removed) and node = of_node));
    insert into presence (id, node, epoch, change, at, body)
      select put->>'id', of_node, of_epoch, nextval('presence_changes'), clock_timestamp(), put->>'body'
      from jsonb_array_elements(puts) as put
      on conflict (id) do update set node = excluded.node, epoch = excluded.epoch, change = excluded.change,
        at = excluded.at, body = excluded.body;
    perform pg_notify('postern', 'presence ' || of_node);
    return true;
  end $$`,
  `create function presence_claim(of_node text, of_epoch bigint, of_name text, of_entry text, of_account text,
    of_credential text, of_pool text) returns text language plpgsql as $$
  declare others text[];
  begin
    perform pg_advisory_xact_lock(${writeKey});
    perform 1 from nodes where id = of_node and epoch = of_epoch for key share;
    if not found then return 'lost'; end if;
    others := array(select entry from presence_names where name = of_name and entry <> of_entry
      and exists (select 1 from nodes where nodes.id = node and nodes.epoch = presence_names.epoch)
      and not (of_pool is not null and pool = of_pool and account_id = of_account));
    perform 1 from presence_names where name = of_name and entry = any(others)
      and (account_id <> of_account or credential_id <> of_credential);
    if found then return 'conflict'; end if;
    perform presence_end(others);
    -- Whoever had them reads there that they were taken over, and are not just forgotten.
    update presence set node = of_node, epoch = of_epoch where id = any(others);
    insert into presence_names (name, entry, node, epoch, account_id, credential_id, pool)
      values (of_name, of_entry, of_node, of_epoch, of_account, of_credential, of_pool)
      on conflict (name, entry) do update set node = excluded.node, epoch = excluded.epoch,
        account_id = excluded.account_id, credential_id = excluded.credential_id, pool = excluded.pool;
    if cardinality(others) > 0 then perform pg_notify('postern', 'presence ' || of_node); end if;
    return 'granted';
  end $$`,
  // What nodes had that are dead, or have come back to life since.
  `create function presence_bury() returns void language plpgsql as $$
  declare orphans text[];
  begin
    orphans := array(select id from presence where body is not null
      and not exists (select 1 from nodes where nodes.id = node and nodes.epoch = presence.epoch));
    if cardinality(orphans) = 0 then return; end if;
    perform pg_advisory_xact_lock(${writeKey});
    perform presence_end(array(select id from presence where id = any(orphans)
      and not exists (select 1 from nodes where nodes.id = node and nodes.epoch = presence.epoch)));
    delete from presence where body is null and at < clock_timestamp() - interval '15 minutes';
    perform pg_notify('postern', 'presence ');
  end $$`,
];

export async function createPresenceTables(transaction: Transaction): Promise<void> {
  for (const text of texts) await sql.raw(text).execute(transaction);
}
