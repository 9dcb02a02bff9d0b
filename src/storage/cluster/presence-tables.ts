/**
 * Sessions, tunnels and public names of each node. The tables are unlogged: the nodes survive a crash of the database
 * and write their entries again. Entries are written one batch at a time, so that numbers of changes become visible in
 * order. Different names are granted concurrently. Claims of the same name are granted one after the other.
 */
import { sql } from "kysely";
import type { Transaction } from "../database/database.ts";

/** Held while presence is written. Any number that nothing else in the same database uses. */
export const writeKey = "7205759403792796";

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
  // A name is first granted to an entry. The entry serves it after the entry is written.
  `create unlogged table presence_names (
    name text collate "C" not null,
    entry text collate "C" not null,
    node text collate "C" not null,
    epoch bigint not null,
    account_id text collate "C" not null,
    pool text,
    is_served boolean not null,
    primary key (name, entry)
  )`,
  "create index presence_names_by_entry on presence_names (entry)",
  // Ended entries stay for a while without a body, so that other nodes notice.
  `create function presence_end(ended text[]) returns void language plpgsql as $$
  begin
    update presence set body = null, at = clock_timestamp(), change = nextval('presence_changes')
      where id = any(ended) and body is not null;
    delete from presence_names where entry = any(ended);
  end $$`,
  // Whether the node is alive. Its data are not deleted before this transaction ends. The transaction need not reach
  // the disk.
  `create function presence_alive(of_node text, of_epoch bigint) returns boolean language plpgsql as $$
  begin
    perform set_config('synchronous_commit', 'off', true);
    perform 1 from nodes where id = of_node and epoch = of_epoch for key share;
    return found;
  end $$`,
  // Returns other holders of the name that do not share it. Locks the name until the transaction ends.
  `create function presence_others(of_name text, of_entry text, of_account text, of_pool text)
  returns setof presence_names language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(hashtextextended(of_name, ${writeKey}));
    return query select held.* from presence_names as held where held.name = of_name and held.entry <> of_entry
      and exists (select 1 from nodes where nodes.id = held.node and nodes.epoch = held.epoch)
      and not (of_pool is not null and held.pool is not distinct from of_pool and held.account_id = of_account);
  end $$`,
  `create function presence_claim(of_node text, of_epoch bigint, of_name text, of_entry text, of_account text,
    of_pool text, replaced text[]) returns text language plpgsql as $$
  declare other presence_names;
  begin
    if not presence_alive(of_node, of_epoch) then return 'lost'; end if;
    for other in select * from presence_others(of_name, of_entry, of_account, of_pool) loop
      if not other.is_served then return 'pending'; end if;
      if not other.entry = any(replaced) then return 'conflict'; end if;
    end loop;
    insert into presence_names (name, entry, node, epoch, account_id, pool, is_served)
      values (of_name, of_entry, of_node, of_epoch, of_account, of_pool, false)
      on conflict (name, entry) do update set node = excluded.node, epoch = excluded.epoch,
        account_id = excluded.account_id, pool = excluded.pool;
    return 'granted';
  end $$`,
  // Serves a name from now on, and ends the entries that it replaces; false if other entries have the name.
  `create function presence_serve(of_node text, of_epoch bigint, of_name text, of_entry text, of_account text,
    of_pool text) returns boolean language plpgsql as $$
  declare others text[];
  begin
    others := array(select entry from presence_others(of_name, of_entry, of_account, of_pool));
    if cardinality(others) > 0 then
      perform 1 from presence_names where name = of_name and entry = of_entry and node = of_node and epoch = of_epoch;
      if not found then return false; end if;
      perform presence_end(others);
      -- Whoever had them reads there that they were taken over, and are not just forgotten.
      update presence set node = of_node, epoch = of_epoch where id = any(others);
    end if;
    delete from presence_names where entry = of_entry and name <> of_name and is_served;
    insert into presence_names (name, entry, node, epoch, account_id, pool, is_served)
      values (of_name, of_entry, of_node, of_epoch, of_account, of_pool, true)
      on conflict (name, entry) do update set node = excluded.node, epoch = excluded.epoch,
        account_id = excluded.account_id, pool = excluded.pool, is_served = true;
    return true;
  end $$`,
  // Returns null if the node is not alive. Otherwise returns the number of the last change, and the entries whose name
  // belongs to other entries.
  `create function presence_write(of_node text, of_epoch bigint, puts jsonb, removed text[], dropped jsonb)
  returns jsonb language plpgsql as $$
  declare
    put record;
    refused text[] := '{}';
  begin
    perform pg_advisory_xact_lock(${writeKey});
    if not presence_alive(of_node, of_epoch) then return null; end if;
    perform presence_end(array(select id from presence where id = any(removed) and node = of_node));
    delete from presence_names where node = of_node and entry = any(removed);
    delete from presence_names using jsonb_to_recordset(dropped) as one (id text, name text)
      where node = of_node and entry = one.id and presence_names.name = one.name and not is_served;
    for put in select * from jsonb_to_recordset(puts)
      as one (id text, body text, name text, account_id text, pool text) where name is not null loop
      if not presence_serve(of_node, of_epoch, put.name, put.id, put.account_id, put.pool) then
        refused := refused || put.id;
      end if;
    end loop;
    insert into presence (id, node, epoch, change, at, body)
      select id, of_node, of_epoch, nextval('presence_changes'), clock_timestamp(), body
      from jsonb_to_recordset(puts) as one (id text, body text) where not id = any(refused)
      on conflict (id) do update set node = excluded.node, epoch = excluded.epoch, change = excluded.change,
        at = excluded.at, body = excluded.body;
    perform pg_notify('postern', 'presence ' || of_node);
    return jsonb_build_object('change', (select last_value from presence_changes), 'refused', to_jsonb(refused));
  end $$`,
  // Deletes the data of nodes that died, or that became alive again since.
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

/**
 * A host's names, `name` and `http://name`, belong to one account. A claim for one conflicts with another account's
 * claim for the other.
 */
export async function keepPlainNamesToAccounts(transaction: Transaction): Promise<void> {
  await sql
    .raw(`create or replace function presence_others(of_name text, of_entry text, of_account text, of_pool text)
  returns setof presence_names language plpgsql as $$
  declare host text := regexp_replace(of_name, '^http://', '');
  begin
    perform pg_advisory_xact_lock(hashtextextended(host, ${writeKey}));
    return query select held.* from presence_names as held
      where held.name in (host, 'http://' || host) and held.entry <> of_entry
      and exists (select 1 from nodes where nodes.id = held.node and nodes.epoch = held.epoch)
      and case when held.name = of_name
        then not (of_pool is not null and held.pool is not distinct from of_pool and held.account_id = of_account)
        else held.account_id <> of_account end;
  end $$`)
    .execute(transaction);
}

/**
 * An entry that the node has written before is a change. It does not take back an entry that has moved to another node
 * since.
 */
export async function leaveMovedEntries(transaction: Transaction): Promise<void> {
  await sql
    .raw(`create or replace function presence_write(of_node text, of_epoch bigint, puts jsonb, removed text[], dropped jsonb)
  returns jsonb language plpgsql as $$
  declare
    put record;
    refused text[];
  begin
    perform pg_advisory_xact_lock(${writeKey});
    if not presence_alive(of_node, of_epoch) then return null; end if;
    refused := array(select presence.id from presence join jsonb_to_recordset(puts) as one (id text, held boolean)
      on presence.id = one.id where one.held and presence.node <> of_node);
    perform presence_end(array(select id from presence where id = any(removed) and node = of_node));
    delete from presence_names where node = of_node and entry = any(removed);
    delete from presence_names using jsonb_to_recordset(dropped) as one (id text, name text)
      where node = of_node and entry = one.id and presence_names.name = one.name and not is_served;
    for put in select * from jsonb_to_recordset(puts)
      as one (id text, body text, name text, account_id text, pool text) where name is not null and not id = any(refused) loop
      if not presence_serve(of_node, of_epoch, put.name, put.id, put.account_id, put.pool) then
        refused := refused || put.id;
      end if;
    end loop;
    insert into presence (id, node, epoch, change, at, body)
      select id, of_node, of_epoch, nextval('presence_changes'), clock_timestamp(), body
      from jsonb_to_recordset(puts) as one (id text, body text) where not id = any(refused)
      on conflict (id) do update set node = excluded.node, epoch = excluded.epoch, change = excluded.change,
        at = excluded.at, body = excluded.body;
    perform pg_notify('postern', 'presence ' || of_node);
    return jsonb_build_object('change', (select last_value from presence_changes), 'refused', to_jsonb(refused));
  end $$`)
    .execute(transaction);
}

/**
 * Names are claimed in batches. Every transaction that locks several names uses the same order, including the lone
 * writer, so that they cannot deadlock. Entries have the time at which they were opened, in microseconds of the
 * database's clock. The latest entry shows where the agent is, in any order of reports.
 */
export async function claimManyAtOnce(transaction: Transaction): Promise<void> {
  const steps = [
    "alter table presence add opened bigint not null default 0",
    `create function presence_lock(names text[]) returns void language plpgsql as $$
    declare one bigint;
    begin
      for one in select distinct hashtextextended(regexp_replace(name, '^http://', ''), ${writeKey})
        from unnest(names) as name order by 1 loop
        perform pg_advisory_xact_lock(one);
      end loop;
    end $$`,
    // Returns the outcome of each claim, in order.
    `create function presence_claims(of_node text, of_epoch bigint, claims jsonb) returns text[] language plpgsql as $$
    declare
      one record;
      outcomes text[] := '{}';
    begin
      perform presence_lock(array(select name from jsonb_to_recordset(claims) as asked (name text)));
      for one in select * from jsonb_to_recordset(claims)
        as asked (name text, entry text, account_id text, pool text, replaces text[]) loop
        outcomes := outcomes || presence_claim(of_node, of_epoch, one.name, one.entry, one.account_id, one.pool, one.replaces);
      end loop;
      return outcomes;
    end $$`,
    // A node of an earlier version sends whether it has written an entry before, and not when the entry was opened.
    `create or replace function presence_write(of_node text, of_epoch bigint, puts jsonb, removed text[], dropped jsonb)
    returns jsonb language plpgsql as $$
    declare
      put record;
      refused text[];
      present bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    begin
      perform pg_advisory_xact_lock(${writeKey});
      if not presence_alive(of_node, of_epoch) then return null; end if;
      perform presence_lock(array(select name from jsonb_to_recordset(puts) as one (name text) where name is not null));
      refused := array(select presence.id from presence
        join jsonb_to_recordset(puts) as one (id text, held boolean, opened bigint) on presence.id = one.id
        where presence.node <> of_node
        and case when one.opened is null then one.held else presence.body is not null and presence.opened > one.opened end);
      perform presence_end(array(select id from presence where id = any(removed) and node = of_node));
      delete from presence_names where node = of_node and entry = any(removed);
      delete from presence_names using jsonb_to_recordset(dropped) as one (id text, name text)
        where node = of_node and entry = one.id and presence_names.name = one.name and not is_served;
      for put in select * from jsonb_to_recordset(puts)
        as one (id text, name text, account_id text, pool text) where name is not null and not id = any(refused) loop
        if not presence_serve(of_node, of_epoch, put.name, put.id, put.account_id, put.pool) then
          refused := refused || put.id;
        end if;
      end loop;
      insert into presence (id, node, epoch, change, at, body, opened)
        select id, of_node, of_epoch, nextval('presence_changes'), clock_timestamp(), body, coalesce(one.opened, present)
        from jsonb_to_recordset(puts) as one (id text, body text, opened bigint) where not id = any(refused)
        on conflict (id) do update set node = excluded.node, epoch = excluded.epoch, change = excluded.change,
          at = excluded.at, body = excluded.body, opened = excluded.opened;
      perform pg_notify('postern', 'presence ' || of_node);
      return jsonb_build_object('change', (select last_value from presence_changes), 'refused', to_jsonb(refused));
    end $$`,
  ];
  for (const text of steps) await sql.raw(text).execute(transaction);
}

/**
 * A claim follows the same rule as `mayHave`: a tunnel is replaced only by its own account. A name whose sibling
 * belongs to another account is rejected without waiting.
 */
export async function decideAsTheRule(transaction: Transaction): Promise<void> {
  await sql
    .raw(`create or replace function presence_claim(of_node text, of_epoch bigint, of_name text, of_entry text,
    of_account text, of_pool text, replaced text[]) returns text language plpgsql as $$
  declare other presence_names;
  begin
    if not presence_alive(of_node, of_epoch) then return 'lost'; end if;
    for other in select * from presence_others(of_name, of_entry, of_account, of_pool) as held
      order by held.name = of_name and not held.is_served loop
      if other.name = of_name and not other.is_served then return 'pending'; end if;
      if other.name <> of_name or other.account_id <> of_account or not other.entry = any(replaced) then
        return 'conflict';
      end if;
    end loop;
    insert into presence_names (name, entry, node, epoch, account_id, pool, is_served)
      values (of_name, of_entry, of_node, of_epoch, of_account, of_pool, false)
      on conflict (name, entry) do update set node = excluded.node, epoch = excluded.epoch,
        account_id = excluded.account_id, pool = excluded.pool;
    return 'granted';
  end $$`)
    .execute(transaction);
}
