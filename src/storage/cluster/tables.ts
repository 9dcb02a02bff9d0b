/** Tables that only several nodes on one PostgreSQL have. */
import { sql } from "kysely";
import type { Transaction } from "../database/database.ts";

/** Of a node, by the database's clock: without a renewal for so long it counts as dead. */
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
