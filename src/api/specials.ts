/** Resources that do more than their declaration says. */
import type { Special, Surroundings } from "./special/special.ts";
import { accountSpecial } from "./special/accounts.ts";
import { hostportsSpecial, reservedDomainSpecial } from "./special/domains.ts";
import { apiKeySpecial, credentialSpecial } from "./special/tokens.ts";

export function makeSpecials(surroundings: Surroundings): Readonly<Record<string, Special>> {
  const { liveObjects } = surroundings;
  const labelsOf = (doc: Readonly<Record<string, unknown>>) => doc["labels"] as Readonly<Record<string, string>>;
  return {
    account: accountSpecial,
    api_key: apiKeySpecial(surroundings),
    credential: credentialSpecial,
    https_edge: hostportsSpecial(surroundings),
    reserved_domain: reservedDomainSpecial(surroundings),
    tunnel_group_backend: {
      live: ({ account_id, doc }) => ({ tunnels: liveObjects.matchingTunnels(account_id, labelsOf(doc)) }),
    },
    tunnel: {
      live: ({ account_id, doc }) => ({ backends: liveObjects.matchingBackends(account_id, labelsOf(doc)) }),
    },
  };
}
