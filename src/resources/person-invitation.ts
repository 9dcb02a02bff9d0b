import { f, notes } from "../schema/fields.ts";
import { emailAddress } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";
import { roleDoc, roles } from "./person.ts";

/** Claim space for invitations, by a part of the hash of their code. */
export const personInvitationSpace = "person invitation";

/** Returns the part of a code's hash by which its invitation is found. The whole hash is compared in constant time. */
export function invitationLookup(hash: string): string {
  return hash.slice(0, 16);
}

export const personInvitation = defineResource({
  name: "person_invitation",
  schemaName: "PersonInvitation",
  path: "/person_invitations",
  listKey: "person_invitations",
  idPrefix: "pinv",
  doc: "A link with which one person gets access to the console. It works once, and then the invitation no longer exists. For a person who exists already, it adds a passkey.",
  fields: {
    ...notes,
    email: f.string(
      "Email address of the person. With an identity provider, the person must log in with this address.",
      { required: true, immutable: true, format: emailAddress },
    ),
    role: f.oneOf(`Role of the new person. ${roleDoc}`, roles, { default: "viewer", immutable: true }),
    expires_at: f.timestamp("Time when the link expires, at most 30 days after its creation; null: after 3 days.", {
      immutable: true,
    }),
    url: f.nullableString("The link. Returned only when it is created, null afterwards.", {
      live: true,
      maxBytes: 1_024,
      example: "https://postern.example.com/#invite=CODE",
    }),
    code_hash: f.string("SHA-256 of the link's code, hexadecimal.", { internal: true }),
    person_id: f.string("The person, if they existed when the link was created.", { internal: true }),
  },
  issued: true,
  refusals: ["operator_only", "console_off", "console_name_needed"],
  claims: ({ code_hash }) =>
    code_hash === "" ? [] : [{ space: personInvitationSpace, name: invitationLookup(code_hash), global: true }],
});
