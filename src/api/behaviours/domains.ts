/** Reserves host names for accounts: explicitly, or with the first hostport that uses the name. */
import { Refusal } from "../../lib/errors.ts";
import { wildcardsOver } from "../../lib/host-cover.ts";
import { idpHostOf } from "../../lib/server-names.ts";
import { httpsEdge } from "../../resources/https-edge.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { tlsEdge } from "../../resources/tls-edge.ts";
import { emptyDoc } from "../../schema/doc.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import type { DomainChecks } from "../domain-proof/domain-checks.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { Provisioning } from "../provisioning/provisioning.ts";
import { needsProof, refuseUnproven } from "../domain-proof/proof-rules.ts";
import type { Draft } from "../../storage/store.ts";
import { settleCertificate, withoutObtained } from "./domain-certificates.ts";
import { checkName, checkNotReservedForAll, claimNewHostports } from "./name-rules.ts";
import type { ClaimRules, Claimant, NameRules } from "./name-rules.ts";
import { checkCarriesConnections } from "./nesting.ts";
import { checkDomainNotServed } from "./served-name-checks.ts";
import { atField } from "../objects/at-field.ts";
import { behaviourOf } from "../objects/behaviour.ts";

export interface DomainRules extends NameRules {
  readonly liveObjects: Pick<LiveObjects, "hasForeignHost" | "agentEndpoints">;
  readonly domainChecks: Pick<DomainChecks, "status">;
  readonly provisioning: Pick<Provisioning, "status">;
}

export function reservedDomainBehaviour(rules: DomainRules) {
  return behaviourOf(reservedDomain, {
    prepare(input) {
      const { draft, accountId, doc, previous } = input;
      if (previous) return { doc: settleCertificate(input) };
      const name = doc.domain;
      atField("domain", () => checkName(draft, accountId, name, rules));
      const isOpen = needsProof(draft, accountId, name, rules);
      if (isOpen && rules.domainProof === "operator") throw refuseUnproven(accountId, name, rules);
      return { doc: { ...settleCertificate(input), unproven: isOpen } };
    },
    deleting: (object, draft) => checkDomainNotServed(object, draft, rules.liveObjects),
    // The server manages the login host and the certificate for its own domain entirely.
    configured: (doc) =>
      doc["certificate_only"] || doc["domain"] === idpHostOf(rules) ? undefined : withoutObtained(doc),
    live(object) {
      const name = object.doc.domain;
      const below = name === rules.domain || name.endsWith(`.${rules.domain}`);
      return {
        cname_target: below ? null : rules.domain,
        ownership: rules.domainChecks.status(object),
        certificate_management_status: rules.provisioning.status(object),
      };
    },
  });
}

export function httpsEdgeBehaviour(rules: ClaimRules) {
  return behaviourOf(httpsEdge, {
    prepare(input) {
      claimNewHostports(input, (hostport) => claimName(input, hostport, rules));
      return { doc: input.doc };
    },
  });
}

export function tlsEdgeBehaviour(rules: ClaimRules) {
  return behaviourOf(tlsEdge, {
    prepare(input) {
      checkCarriesConnections(input.draft, input);
      claimNewHostports(input, (hostport) => claimName(input, hostport, rules));
      return { doc: input.doc };
    },
  });
}

/**
 * Throws `hostport_held` if an agent serves the hostport.
 * @param pool the scheme of an endpoint that may share the hostport; undefined if it may not be shared
 */
export function checkNoAgent(
  accountId: string,
  hostport: string,
  { liveObjects }: Pick<ClaimRules, "liveObjects">,
  pool: string | undefined,
): void {
  const agent = liveObjects.holderOfHostport(hostport, accountId);
  if (!agent) return;
  const isOwn = agent.accountId === accountId;
  if (isOwn && pool !== undefined && agent.pooled === pool) return;
  throw refuseHeldByAgent(hostport, isOwn ? agent.tunnelId : undefined);
}

/** Checks that no other account or agent has the name, and reserves the domain for the account if needed. */
export function claimName(
  { draft, accountId, doc }: Claimant,
  hostport: string,
  rules: ClaimRules,
  pool?: string,
): void {
  const name = hostport.slice(0, hostport.lastIndexOf(":"));
  checkNotReservedForAll(name, rules);
  checkNoAgent(accountId, hostport, rules, pool);
  reserveName(draft, accountId, name, doc.metadata, rules);
}

function refuseHeldByAgent(hostport: string, tunnelId: string | undefined): Refusal {
  const message = `an online agent holds hostport "${hostport}"`;
  return new Refusal(
    "hostport_held",
    message,
    tunnelId === undefined ? {} : { holder_id: tunnelId, holder_kind: "tunnel" },
  );
}

/** @param metadata of the object that needs the name; keys that may see the object may see the name */
function reserveName(draft: Draft, accountId: string, name: string, metadata: string, rules: ClaimRules): void {
  for (const candidate of [name, ...wildcardsOver(name)]) {
    if (draft.holder(accountId, "domain", candidate)?.account_id === accountId) return;
  }
  checkName(draft, accountId, name, rules);
  if (needsProof(draft, accountId, name, rules)) throw refuseUnproven(accountId, name, rules);
  if (rules.requireReservation) {
    throw new Refusal("domain_unreserved", `domain "${name}" is not reserved in this account`);
  }
  const empty = emptyDoc(resourceNamed(reservedDomain.name).fields);
  draft.create(accountId, reservedDomain.name, { ...empty, domain: name, metadata });
}
