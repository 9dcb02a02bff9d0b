/** Who may use a host name: reserved by hand, or with the first hostport that has it (decision 4). */
import { Refusal } from "../../lib/errors.ts";
import { wildcardsOver } from "../../lib/host-cover.ts";
import { emptyDoc } from "../../schema/doc.ts";
import { resourceNamed } from "../operation/declarations.ts";
import { needsProof, unproven } from "../domain-proof/rules.ts";
import type { Draft } from "../../storage/store.ts";
import { settleCertificate, withoutObtained } from "./domain-certificates.ts";
import { checkName, checkNotReservedForAll } from "./host-names.ts";
import { checkDomainNotServed } from "./served-names.ts";
import type { Preparation, Behaviour, Surroundings } from "../objects/behaviour.ts";

export function reservedDomainBehaviour(surroundings: Surroundings): Behaviour {
  return {
    prepare(input) {
      const { draft, accountId, doc, previous } = input;
      if (previous) return { doc: settleCertificate(input) };
      const name = doc["domain"] as string;
      checkName(draft, accountId, name, surroundings);
      const isOpen = needsProof(draft, accountId, name, surroundings);
      if (isOpen && surroundings.domainProof === "operator") throw unproven(accountId, name, surroundings);
      return { doc: { ...settleCertificate(input), unproven: isOpen } };
    },
    deleting: (object, draft) => checkDomainNotServed(object, draft, surroundings.liveObjects),
    configured: withoutObtained,
    live(object) {
      const name = object.doc["domain"] as string;
      const below = name === surroundings.domain || name.endsWith(`.${surroundings.domain}`);
      return {
        cname_target: below ? null : surroundings.domain,
        ownership: surroundings.domainChecks.status(object),
        certificate_management_status: surroundings.provisioning.status(object),
      };
    },
  };
}

/** For edges whose hostports are names of the account. */
export function hostportsBehaviour(surroundings: Surroundings) {
  return {
    prepare(input: Preparation) {
      const { doc, previous } = input;
      const before = new Set((previous?.doc["hostports"] ?? []) as readonly string[]);
      for (const hostport of doc["hostports"] as readonly string[]) {
        if (!before.has(hostport)) claimName(input, hostport, surroundings);
      }
      return { doc };
    },
  } satisfies Behaviour;
}

/** Makes sure that the name is nobody else's and no agent holds the hostport, and that the account has its domain. */
export function claimName(
  { draft, accountId, doc }: Pick<Preparation, "draft" | "accountId" | "doc">,
  hostport: string,
  surroundings: Surroundings,
): void {
  const name = hostport.slice(0, hostport.lastIndexOf(":"));
  checkNotReservedForAll(name, surroundings);
  const agent = surroundings.liveObjects.holderOfHostport(hostport);
  if (agent) throw heldByAgent(hostport, agent.accountId === accountId ? agent.tunnelId : undefined);
  reserve(draft, accountId, name, doc["metadata"], surroundings);
}

function heldByAgent(hostport: string, tunnelId: string | undefined): Refusal {
  const message = `hostport "${hostport}" is held by an agent that is online`;
  return new Refusal(
    "hostport_held",
    message,
    tunnelId === undefined ? {} : { holder_id: tunnelId, holder_kind: "tunnel" },
  );
}

/** @param metadata of what the name is for: whoever may have that may have its name */
function reserve(draft: Draft, accountId: string, name: string, metadata: unknown, surroundings: Surroundings): void {
  for (const candidate of [name, ...wildcardsOver(name)]) {
    if (draft.holder(accountId, "domain", candidate)?.account_id === accountId) return;
  }
  checkName(draft, accountId, name, surroundings);
  if (needsProof(draft, accountId, name, surroundings)) throw unproven(accountId, name, surroundings);
  if (surroundings.requireReservation) {
    throw new Refusal("domain_unreserved", `domain "${name}" is not reserved in this account`);
  }
  const empty = emptyDoc(resourceNamed("reserved_domain").fields);
  draft.create(accountId, "reserved_domain", { ...empty, domain: name, metadata });
}
