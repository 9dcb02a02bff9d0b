/**
 * Presence, see `presence-tables.ts`, for many agents at once. Claims and entries are written as sets. Only names for
 * which another holder counts are decided one after the other. Changes are read by their number, however many entries
 * there are.
 */
import { sql } from "kysely";
import type { Transaction } from "../database/database.ts";
import { writeKey } from "./presence-tables.ts";

const texts = [
  // Without statistics, the planner prefers to read the whole table for a few changes.
  `create or replace function presence_since(of_node text, of_change bigint, most integer)
  returns table (id text, node text, change bigint, body text, lapsed boolean)
  language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set jit = off as $$
  begin
    return query select one.id, one.node, one.change,
      case when one.node = of_node and one.body is not null then '' else one.body end,
      one.body is null and not exists (select 1 from nodes where nodes.id = one.node and nodes.epoch = one.epoch)
      from presence as one where one.change > of_change order by one.change limit most;
  end $$`,
  // Returns the entries whose name another entry has or wants that does not share it, see presence_others.
  `create or replace function presence_contested(names text[], entries text[], accounts text[], pools text[])
  returns text[] language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  begin
    return array(
      with asked as materialized (
        select name, regexp_replace(name, '^http://', '') as host, entry, account_id, pool
        from unnest(names, entries, accounts, pools) as one (name, entry, account_id, pool)
      )
      select asked.entry from asked where asked.host in (
        select host from asked group by host
        having count(*) > 1 and (count(distinct (name, account_id, pool)) > 1 or count(pool) < count(*)
          or count(distinct entry) < count(*)))
      union
      select asked.entry from asked where exists (
        select 1 from presence_names as held
        where held.name = any(array[asked.host, 'http://' || asked.host]) and held.entry <> asked.entry
        and case when held.name = asked.name
          then not (asked.pool is not null and held.pool is not distinct from asked.pool
            and held.account_id = asked.account_id)
          else held.account_id <> asked.account_id end
        and exists (select 1 from nodes where nodes.id = held.node and nodes.epoch = held.epoch)));
  end $$`,
  `create or replace function presence_lock(names text[]) returns void language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(lock) from (
      select distinct hashtextextended(regexp_replace(name, '^http://', ''), ${writeKey}) as lock
      from unnest(names) as name order by 1) as locks;
  end $$`,
  `create or replace function presence_claims(of_node text, of_epoch bigint, claims jsonb)
  returns text[] language plpgsql as $$
  declare
    one record;
    outcomes text[];
    contested text[];
  begin
    perform presence_lock(array(select name from jsonb_to_recordset(claims) as asked (name text)));
    if not presence_alive(of_node, of_epoch) then
      return array_fill('lost'::text, array[jsonb_array_length(claims)]);
    end if;
    select presence_contested(array_agg(name), array_agg(entry), array_agg(account_id), array_agg(pool)) into contested
      from jsonb_to_recordset(claims) as asked (name text, entry text, account_id text, pool text);
    insert into presence_names (name, entry, node, epoch, account_id, pool, is_served)
      select name, entry, of_node, of_epoch, account_id, pool, false
      from jsonb_to_recordset(claims) as asked (name text, entry text, account_id text, pool text)
      where not entry = any(contested)
      on conflict (name, entry) do update set node = excluded.node, epoch = excluded.epoch,
        account_id = excluded.account_id, pool = excluded.pool;
    for one in select * from jsonb_to_recordset(claims)
      as asked (name text, entry text, account_id text, pool text, replaces text[]) loop
      outcomes := outcomes || case when one.entry = any(contested)
        then presence_claim(of_node, of_epoch, one.name, one.entry, one.account_id, one.pool, one.replaces)
        else 'granted' end;
    end loop;
    return outcomes;
  end $$`,
  `create or replace function presence_write(of_node text, of_epoch bigint, puts jsonb, removed text[], dropped jsonb)
  returns jsonb language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  declare
    put record;
    refused text[];
    contested text[];
    named jsonb;
    present bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  begin
    perform pg_advisory_xact_lock(${writeKey});
    if not presence_alive(of_node, of_epoch) then return null; end if;
    refused := array(select presence.id from presence
      join jsonb_to_recordset(puts) as one (id text, held boolean, opened bigint) on presence.id = one.id
      where presence.node <> of_node
      and case when one.opened is null then one.held else presence.body is not null and presence.opened > one.opened end);
    -- Without the bodies, which are the most of it.
    select coalesce(jsonb_agg(one), '[]') into named from jsonb_to_recordset(puts)
      as one (id text, name text, account_id text, pool text) where name is not null and not id = any(refused);
    perform presence_lock(array(select name from jsonb_to_recordset(named) as one (name text)));
    perform presence_end(array(select id from presence where id = any(removed) and node = of_node));
    delete from presence_names where node = of_node and entry = any(removed);
    delete from presence_names using jsonb_to_recordset(dropped) as one (id text, name text)
      where node = of_node and entry = one.id and presence_names.name = one.name and not is_served;
    select coalesce(presence_contested(array_agg(name), array_agg(id), array_agg(account_id), array_agg(pool)), '{}')
      into contested from jsonb_to_recordset(named) as one (id text, name text, account_id text, pool text);
    delete from presence_names using jsonb_to_recordset(named) as one (id text, name text)
      where entry = one.id and presence_names.name <> one.name and is_served and not one.id = any(contested);
    insert into presence_names (name, entry, node, epoch, account_id, pool, is_served)
      select name, id, of_node, of_epoch, account_id, pool, true
      from jsonb_to_recordset(named) as one (id text, name text, account_id text, pool text)
      where not id = any(contested)
      on conflict (name, entry) do update set node = excluded.node, epoch = excluded.epoch,
        account_id = excluded.account_id, pool = excluded.pool, is_served = true;
    for put in select * from jsonb_to_recordset(named)
      as one (id text, name text, account_id text, pool text) where id = any(contested) loop
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

export async function writePresenceAsSets(transaction: Transaction): Promise<void> {
  for (const text of texts) await sql.raw(text).execute(transaction);
}
