/** Tables that exist only if several nodes share one PostgreSQL. */
import { sql } from "kysely";
import type { Transaction } from "../database/database.ts";

/** A node without a renewal for this time counts as dead, by the database's clock. */
export const leaseMs = 6000;

const texts = [
  `create table nodes (
    id text collate "C" primary key,
    epoch bigint not null unique,
    version text not null,
    api_url text,
    peer_address text,
    region text not null,
    started_at timestamptz not null,
    renewed_at timestamptz not null,
    revision bigint not null,
    agents integer not null,
    connections integer not null
  )`,
  "create sequence node_epochs",
  `create table jobs (
    name text collate "C" primary key,
    node text collate "C" not null,
    epoch bigint not null
  )`,
];

export async function createNodeTables(transaction: Transaction): Promise<void> {
  for (const text of texts) await sql.raw(text).execute(transaction);
}
