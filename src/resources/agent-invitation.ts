import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { credential } from "./credential.ts";

/** Claim space for invitations, by the hash of their secret. */
export const agentInvitationSpace = "agent invitation";

/**
 * Returns the part of a secret's hash by which its invitation is found. The whole hash is compared in constant time.
 */
export function lookupOf(hash: string): string {
  return hash.slice(0, 16);
}

export const agentInvitation = defineResource({
  name: "agent_invitation",
  schemaName: "AgentInvitation",
  path: "/agent_invitations",
  listKey: "agent_invitations",
  idPrefix: "ainv",
  doc: "A code with which `postern join` gets an agent token. Each agent gets its own token, named after its machine. The history lists the joined agents under the invitation's id.",
  fields: {
    ...notes,
    code: f.nullableString("The code for `postern join`. Returned only when it is created, null afterwards.", {
      live: true,
      maxBytes: 512,
      example: "pj1_AQAAAAAA",
    }),
    code_hash: f.string("SHA-256 of the code's secret, hexadecimal.", { internal: true }),
    uses: f.uint32("Number of agents that can join with the code.", {
      min: 1,
      max: 1000,
      default: 1,
      immutable: true,
    }),
    used: f.uint32("Number of agents that have joined.", { readOnly: true }),
    expires_at: f.timestamp("Time when the code expires, at most 30 days after its creation; null: after one hour.", {
      immutable: true,
    }),
    token_expires_at: f.timestamp("Time when the agent tokens of the joined agents expire; null: never.", {
      immutable: true,
    }),
    acl: { ...credential.fields.acl, doc: "Names that the joined agents can bind; empty: all.", immutable: true },
  },
  issued: true,
  claims: ({ code_hash }) =>
    code_hash === "" ? [] : [{ space: agentInvitationSpace, name: lookupOf(code_hash), global: true }],
});
