/** The nodes that are in the database. */
import type { SharedDatabase } from "../database/database.ts";
import { leaseMs } from "./node-tables.ts";

export interface NodeRow {
  readonly id: string;
  readonly version: string;
  readonly api_url: string | null;
  readonly peer_address: string | null;
  readonly region: string;
  readonly started_at: string;
  /** Milliseconds since the last renewal, by the database's clock. */
  readonly age_ms: number;
  readonly is_held: boolean;
  readonly revision: number;
  readonly agents: number;
  readonly connections: number;
}

const text = `select id, version, api_url, peer_address, region, revision, agents, connections,
  to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as started_at,
  (extract(epoch from clock_timestamp() - renewed_at) * 1000)::integer as age_ms,
  renewed_at > clock_timestamp() - interval '${leaseMs} ms' as is_held from nodes order by started_at, id`;

/** Returns the nodes, oldest first. A dead node is listed until another node notices. */
export async function listNodes(shared: SharedDatabase): Promise<readonly NodeRow[]> {
  return await shared.query<NodeRow>(text);
}
