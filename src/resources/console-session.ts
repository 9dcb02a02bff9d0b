import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const consoleSession = defineResource({
  name: "console_session",
  schemaName: "ConsoleSession",
  path: "/console_sessions",
  listKey: "console_sessions",
  idPrefix: "cons",
  doc: "Somebody who uses the console, with what an API key may do, or what rules say of who they are at the team's identity provider. Deleting it logs them out, and so does deleting the key.",
  fields: {
    api_key: f.ref(
      "The key with which they came: the session may do what it may; null for who came by the identity provider.",
      { to: "api_key", input: "api_key_id" },
    ),
    person: f.string("Who they are, where they came by the identity provider.", { maxBytes: 1024 }),
    identity: f.string("What it said of them, as JSON.", { internal: true, maxBytes: 65_536 }),
    ip_address: f.string("Where they came from."),
    user_agent: f.string("What their browser says of itself.", { maxBytes: 255 }),
    expires_at: f.timestamp("When it ends by itself."),
    cookie_hash: f.string("SHA-256 of the cookie.", { internal: true }),
  },
  operations: ["get", "list", "delete"],
  issued: true,
  claims: ({ cookie_hash }) =>
    cookie_hash === "" ? [] : [{ space: "console cookie", name: cookie_hash, global: true }],
  ownedBy: { kind: "api_key", field: "api_key_id" },
});
