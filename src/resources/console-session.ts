import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

/** Holds the hash of an application's access token. */
export const consoleTokenSpace = "console access token";
/** Holds the hash of what all codes and refresh tokens of an application's access share. */
export const consoleGrantSpace = "console grant";

export const consoleSession = defineResource({
  name: "console_session",
  schemaName: "ConsoleSession",
  path: "/console_sessions",
  listKey: "console_sessions",
  idPrefix: "cons",
  doc: "A login to the console, or an application that may use `/mcp`, with the permissions of an API key or of a person. Deleting the session, its key or its person ends the access.",
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
    client: f.string("The application that the user has connected to `/mcp`, by its own name; empty for a browser.", {
      maxBytes: 1024,
    }),
    client_scopes: f.list("What the application may do: `read`, `write`.", f.string("One scope.", { maxBytes: 16 })),
    user_agent: f.string("What the user's browser reports.", { maxBytes: 255 }),
    expires_at: f.timestamp("Time when the session expires."),
    cookie_hash: f.string("SHA-256 of the cookie.", { internal: true }),
    token_hash: f.string("SHA-256 of the application's access token.", { internal: true }),
    grant: f.string("What the application was granted, as JSON.", { internal: true, maxBytes: 16_384 }),
  },
  operations: ["get", "list", "delete"],
  issued: true,
  // A cookie is no access token, and an access token no cookie.
  claims: ({ cookie_hash, token_hash, grant }) =>
    [
      { space: "console cookie", name: cookie_hash, global: true },
      { space: consoleTokenSpace, name: token_hash, global: true },
      { space: consoleGrantSpace, name: familyIn(grant), global: true },
    ].filter(({ name }) => name !== ""),
  ownedBy: { kind: "api_key", field: "api_key_id" },
});

function familyIn(grant: string): string {
  return grant === "" ? "" : ((JSON.parse(grant) as { readonly family?: string }).family ?? "");
}
