import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const consoleSession = defineResource({
  name: "console_session",
  schemaName: "ConsoleSession",
  path: "/console_sessions",
  listKey: "console_sessions",
  idPrefix: "cons",
  doc: "A login to the console, with the permissions of an API key or of a person. Deleting the session, its key or its person logs the user out.",
  fields: {
    api_key: f.ref("The API key of the login, whose permissions apply; null for a login of a person.", {
      to: "api_key",
      input: "api_key_id",
    }),
    person: f.string("The person, unless the login used an API key.", { maxBytes: 1024 }),
    person_id: f.string("The person's id, unless only rules of the identity provider admit them.", { internal: true }),
    passkey_id: f.string("The passkey of the login.", { internal: true }),
    identity: f.string("Identity data from the provider, as JSON.", { internal: true, maxBytes: 65_536 }),
    ip_address: f.string("The user's address."),
    user_agent: f.string("What the user's browser reports.", { maxBytes: 255 }),
    expires_at: f.timestamp("Time when the session expires."),
    cookie_hash: f.string("SHA-256 of the cookie.", { internal: true }),
  },
  operations: ["get", "list", "delete"],
  issued: true,
  claims: ({ cookie_hash }) =>
    cookie_hash === "" ? [] : [{ space: "console cookie", name: cookie_hash, global: true }],
  ownedBy: { kind: "api_key", field: "api_key_id" },
});
