/** Who may use a host name: reserved by hand, or with the first hostport that has it (decision 4). */
import { Refusal } from "../../lib/errors.ts";
import { emptyDoc } from "../../schema/parse.ts";
import { resourceNamed } from "../operation/declarations.ts";
import type { Draft } from "../../storage/store.ts";
import { settleCertificate, withoutObtained } from "./domain-certificates.ts";
import type { Preparation, Special, Surroundings } from "./special.ts";

export function reservedDomainSpecial(surroundings: Surroundings): Special {
  return {
    prepare(input) {
      const { draft, accountId, doc, previous } = input;
      if (!previous) checkFree(draft, accountId, doc["domain"] as string, surroundings.domain);
      return { doc: settleCertificate(input) };
    },
    configured: withoutObtained,
    live(object) {
      const name = object.doc["domain"] as string;
      const below = name === surroundings.domain || name.endsWith(`.${surroundings.domain}`);
      return {
        cname_target: below ? null : surroundings.domain,
        certificate_management_status: surroundings.provisioning.status(object),
      };
    },
  };
}

/** For edges whose hostports are names of the account. */
export function hostportsSpecial(surroundings: Surroundings) {
  return {
    prepare(input: Preparation) {
      const { doc, previous } = input;
      const before = new Set((previous?.doc["hostports"] ?? []) as readonly string[]);
      for (const hostport of doc["hostports"] as readonly string[]) {
        if (!before.has(hostport)) claimName(input, hostport, surroundings);
      }
      return { doc };
    },
  } satisfies Special;
}

/** Makes sure that no agent holds the hostport, and that the account has its domain. */
export function claimName(
  { draft, accountId }: Pick<Preparation, "draft" | "accountId">,
  hostport: string,
  surroundings: Surroundings,
): void {
  const agent = surroundings.liveObjects.holderOfHostport(hostport);
  if (agent) throw heldByAgent(hostport, agent.accountId === accountId ? agent.tunnelId : undefined);
  reserve(draft, accountId, hostport.slice(0, hostport.lastIndexOf(":")), surroundings);
}

function heldByAgent(hostport: string, tunnelId: string | undefined): Refusal {
  const message = `hostport "${hostport}" is held by an agent that is online`;
  return new Refusal(
    "hostport_held",
    message,
    tunnelId === undefined ? {} : { holder_id: tunnelId, holder_kind: "tunnel" },
  );
}

function reserve(draft: Draft, accountId: string, name: string, surroundings: Surroundings): void {
  for (const candidate of [name, ...wildcardsOver(name)]) {
    if (draft.holder(accountId, "domain", candidate)?.account_id === accountId) return;
  }
  checkFree(draft, accountId, name, surroundings.domain);
  if (surroundings.requireReservation) {
    throw new Refusal("domain_unreserved", `domain "${name}" is not reserved in this account`);
  }
  draft.create(accountId, "reserved_domain", { ...emptyDoc(resourceNamed("reserved_domain").fields), domain: name });
}

/** Refuses a name that another account holds, itself or by a wildcard, and the server's own. */
function checkFree(draft: Draft, accountId: string, name: string, base: string): void {
  for (const candidate of [name, ...wildcardsOver(name)]) {
    const holder = draft.holder(accountId, "domain", candidate);
    if (holder && holder.account_id !== accountId) throw held(name, candidate);
  }
  if (name === `*.${base}` || wildcardsOver(base).includes(name)) {
    throw new Refusal(
      "domain_held",
      `domain "${name}" belongs to the server: names for all accounts are made below it`,
    );
  }
}

function held(name: string, candidate: string): Refusal {
  const by = name === candidate ? "" : ` by "${candidate}"`;
  return new Refusal("domain_held", `domain "${name}" is reserved${by} in another account`);
}

/** `a.b.c` → `*.b.c`, `*.c`. */
function wildcardsOver(name: string): string[] {
  const labels = name.replace(/^\*\./, "").split(".");
  const wildcards = labels.map((_, index) => `*.${labels.slice(index + 1).join(".")}`).slice(0, -1);
  return wildcards.filter((wildcard) => wildcard !== name);
}
