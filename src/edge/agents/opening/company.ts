/** Decides which tunnels may share a name: pooled endpoints, and the tunnels of one agent with several sessions. */
import type { AgentSession, BindRequest } from "../../../tunnel/server-hooks.ts";
import { likenessOf } from "./option-translations.ts";
import type { Company } from "../tunnels/tunnel.ts";

/** Returns undefined for a tunnel that serves its name alone. */
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
