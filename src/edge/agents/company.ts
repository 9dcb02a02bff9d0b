/** What may serve a name together: pooled endpoints, and the tunnels that one agent has in several sessions. */
import type { AgentSession, BindRequest } from "../../tunnel/server-hooks.ts";
import { likenessOf } from "./options.ts";

export interface Company {
  /** The same text for those that may; the protocol for pooled ones. */
  readonly key: string;
  /** They ask for it (`PoolingEnabled`). */
  readonly isPool: boolean;
  /** One agent's are the same tunnel, so they must do the same; undefined where each does as it likes. */
  readonly likeness: string | undefined;
  /** As `likeness`, also within a pool: the same text for what one agent has in several sessions. */
  readonly agent: string | undefined;
}

/** Undefined for what serves its name alone. */
export function companyOf(
  { credentialId, agentId }: Pick<AgentSession, "credentialId" | "agentId">,
  { proto, pools, options, forwardsTo }: Pick<BindRequest, "proto" | "pools" | "options" | "forwardsTo">,
): Company | undefined {
  const isPool = pools === true;
  if (agentId === "") return isPool ? { key: proto, isPool, likeness: undefined, agent: undefined } : undefined;
  const key = `${proto} of ${credentialId} ${agentId}`;
  const likeness = `${likenessOf(proto, options)} ${forwardsTo}`;
  const agent = `${key} ${likeness}`;
  return isPool ? { key: proto, isPool, likeness: undefined, agent } : { key, isPool, likeness, agent };
}

/** The same text for tunnels that may serve a name together; undefined for a tunnel that serves its name alone. */
export function sharingKey(company: Company | undefined): string | undefined {
  if (company?.likeness === undefined) return company?.key;
  return `${company.key.length} ${company.key} ${company.likeness}`;
}
