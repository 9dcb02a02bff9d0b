import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const consoleSession = defineResource({
  name: "console_session",
  schemaName: "ConsoleSession",
  path: "/console_sessions",
  listKey: "console_sessions",
  idPrefix: "cons",
  doc: "A login to the console, with the permissions of an API key or of a user at the team's identity provider. Deleting the session or its key logs the user out.",
  fields: {
    api_key: f.ref(
      "The API key of the login, whose permissions apply; null for a login through the identity provider.",
      { to: "api_key", input: "api_key_id" },
    ),
    person: f.string("The user, if the login used the identity provider.", { maxBytes: 1024 }),
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
