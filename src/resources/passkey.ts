import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

/** Claim space for passkeys, by the hash of their credential id. */
export const passkeySpace = "passkey";

export const passkey = defineResource({
  name: "passkey",
  schemaName: "Passkey",
  path: "/passkeys",
  listKey: "passkeys",
  idPrefix: "psk",
  doc: "A passkey (WebAuthn credential) with which a person logs in to the console. Deleting the passkey ends the sessions that it opened.",
  fields: {
    person: f.ref("The person.", { to: "person", input: "person_id" }, { required: true, immutable: true }),
    synced: f.boolean("Whether the passkey is backed up, for example in a password manager.", { readOnly: true }),
    last_used_at: f.timestamp("Time of the last login with the passkey.", { readOnly: true }),
    credential_id: f.string("Id of the credential, base64url.", { internal: true, maxBytes: 2_048 }),
    credential_hash: f.string("SHA-256 of the credential's id, hexadecimal.", { internal: true }),
    public_key: f.string("The public key as COSE, base64url.", { internal: true, maxBytes: 8_192 }),
    user_handle: f.string("What the authenticator stores as the id of the user.", { internal: true }),
    counter: f.number("The authenticator's signature counter.", { internal: true, min: 0, max: 4_294_967_295 }),
  },
  operations: ["get", "list", "delete"],
  issued: true,
  narrowedBy: ["person_id"],
  claims: ({ credential_hash }) =>
    credential_hash === "" ? [] : [{ space: passkeySpace, name: credential_hash, global: true }],
  ownedBy: { kind: "person", field: "person_id" },
});
