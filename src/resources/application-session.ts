import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

const milliseconds = { min: 0, max: Number.MAX_SAFE_INTEGER } as const;

/**
 * The edge and route are stored as texts, because a login must not retain the edge or route at which it was created.
 */
export const applicationSession = defineResource({
  name: "application_session",
  schemaName: "ApplicationSession",
  path: "/app/sessions",
  listKey: "application_sessions",
  idPrefix: "appses",
  doc: "A login at a route. Deleting the session logs the visitor out.",
  fields: {
    public_url: f.string("The address of the login.", { maxBytes: 2048 }),
    browser_session: f.object("The visitor's browser.", {
      user_agent: f.object("What the browser reports.", {
        raw: f.string("The User-Agent header.", { maxBytes: 2048 }),
        browser_name: f.string("Name of the browser."),
        browser_version: f.string("Its version."),
        device_type: f.string("Kind of device."),
        os_name: f.string("Name of the operating system."),
        os_version: f.string("Its version."),
      }),
      ip_address: f.string("Source address."),
      location: f.object(
        "Location of the address; null if unknown.",
        { country_code: f.string("ISO 3166 code of the country.") },
        { nullable: true },
      ),
    }),
    application_user: f.ref(
      "The logged-in visitor.",
      { to: "application_user", input: "application_user_id" },
      { required: true },
    ),
    claims: f.object(
      "Identity data from the provider, as lists and rules evaluate it.",
      {
        subject: f.string("Id at the provider.", { maxBytes: 1024 }),
        email: f.string("E-mail address.", { maxBytes: 1024 }),
        email_verified: f.boolean("Whether the provider has verified the address."),
        managed_domain: f.string("Domain that manages the address.", { maxBytes: 1024 }),
        name: f.string("Name.", { maxBytes: 1024 }),
        username: f.string("User name.", { maxBytes: 1024 }),
        groups: f.list(
          "Teams, organizations and groups.",
          f.string("One group; lower case if case does not matter.", { maxBytes: 1024 }),
          { maxItems: 1000 },
        ),
        authenticated_at: f.timestamp(
          "Time of the visitor's last authentication; null if the provider does not send it.",
        ),
      },
      { live: true },
    ),
    last_active: f.timestamp("Time of the last use of the session."),
    expires_at: f.timestamp("Time when the session expires."),
    endpoint: f.ref("The endpoint.", { to: "endpoint", input: "endpoint" }, { live: true }),
    edge: f.ref("The edge.", { to: "https_edge", input: "edge" }, { live: true }),
    route: f.ref("The route.", { to: "https_edge_route", input: "route" }, { live: true }),
    edge_id: f.string("Id of the edge.", { internal: true }),
    route_id: f.string("Id of the route.", { internal: true }),
    cookie_hash: f.string("SHA-256 of the cookie.", { internal: true }),
    login: f.string("Further data that edges share between many logins, as JSON.", {
      internal: true,
      maxBytes: 65_536,
    }),
    login_at: f.number("Creation time, in milliseconds since 1970.", { internal: true, ...milliseconds }),
    checked_at: f.number("Time of the last check with the provider, in milliseconds since 1970.", {
      internal: true,
      ...milliseconds,
    }),
    ends_at: f.number("Expiry time set by the provider, in milliseconds since 1970; 0: none.", {
      internal: true,
      ...milliseconds,
    }),
    identity: f.object(
      "Identity data from the provider.",
      {
        subject: f.string("Id at the provider.", { maxBytes: 1024 }),
        email: f.string("E-mail address.", { maxBytes: 1024 }),
        email_verified: f.boolean("Whether the provider has verified the address."),
        name: f.string("Name.", { maxBytes: 1024 }),
        username: f.string("User name.", { maxBytes: 1024 }),
        memberships: f.list("Teams, organizations and groups.", f.string("One group.", { maxBytes: 1024 })),
        provider_session: f.string("Session at the provider.", { maxBytes: 4096 }),
        authenticated_at: f.number("Time of the visitor's last authentication, in seconds since 1970; 0: unknown.", {
          ...milliseconds,
        }),
        managed_domain: f.string("Domain that manages the address.", { maxBytes: 1024 }),
      },
      { internal: true },
    ),
    tokens: f.string("The provider's tokens, as JSON.", { internal: true, secret: true, maxBytes: 65_536 }),
    grant: f.string("What a client that is not a browser was granted, as JSON.", { internal: true, maxBytes: 16_384 }),
  },
  operations: ["get", "list", "delete"],
  claims: ({ cookie_hash }) => (cookie_hash === "" ? [] : [{ space: "login cookie", name: cookie_hash, global: true }]),
  traffic: true,
  unrecorded: true,
  packed: {
    keys: ["application_user_id", "cookie_hash"],
    own: [
      "login_at",
      "checked_at",
      "last_active",
      "expires_at",
      "browser_session.ip_address",
      "browser_session.location",
      "identity.subject",
      "identity.email",
      "identity.email_verified",
      "identity.name",
      "identity.username",
      "identity.memberships",
      "identity.provider_session",
      "identity.authenticated_at",
      "identity.managed_domain",
      "ends_at",
      "tokens",
      "grant",
    ],
    common: ["public_url", "edge_id", "route_id", "browser_session.user_agent", "login"],
  },
  ownedBy: { kind: "application_user", field: "application_user_id" },
});
