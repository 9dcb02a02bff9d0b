import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

/** The edge and route are kept as texts: a login must not hold on to what it was made at. */
export const applicationSession = defineResource({
  name: "application_session",
  schemaName: "ApplicationSession",
  path: "/app/sessions",
  listKey: "application_sessions",
  idPrefix: "appses",
  doc: "A login at a route. Deleting it logs the visitor out.",
  fields: {
    public_url: f.string("Where the visitor logged in.", { maxBytes: 2048 }),
    browser_session: f.object("The visitor's browser.", {
      user_agent: f.object("What the browser says of itself.", {
        raw: f.string("The User-Agent header.", { maxBytes: 2048 }),
        browser_name: f.string("Name of the browser."),
        browser_version: f.string("Its version."),
        device_type: f.string("Kind of device."),
        os_name: f.string("Name of the operating system."),
        os_version: f.string("Its version."),
      }),
      ip_address: f.string("Source address."),
      location: f.object(
        "Where the address is; null where that is not known.",
        { country_code: f.string("ISO 3166 code of the country.") },
        { nullable: true },
      ),
    }),
    application_user: f.ref(
      "Who logged in.",
      { to: "application_user", input: "application_user_id" },
      { required: true },
    ),
    claims: f.object(
      "What the provider has said of the visitor, as lists and rules judge it.",
      {
        subject: f.string("Id at the provider.", { maxBytes: 1024 }),
        email: f.string("E-mail address.", { maxBytes: 1024 }),
        email_verified: f.boolean("Whether the provider vouches for it."),
        managed_domain: f.string("Domain that the address is managed by.", { maxBytes: 1024 }),
        name: f.string("Name.", { maxBytes: 1024 }),
        username: f.string("User name.", { maxBytes: 1024 }),
        groups: f.list(
          "Teams, organizations and groups.",
          f.string("One of them; lower case where case does not count.", { maxBytes: 1024 }),
          { maxItems: 1000 },
        ),
        authenticated_at: f.timestamp("When the visitor last showed credentials; null where that is not told."),
      },
      { live: true },
    ),
    last_active: f.timestamp("When the session was last used."),
    expires_at: f.timestamp("When it ends by itself."),
    endpoint: f.ref("The endpoint.", { to: "endpoint", input: "endpoint" }, { live: true }),
    edge: f.ref("The edge.", { to: "https_edge", input: "edge" }, { live: true }),
    route: f.ref("The route.", { to: "https_edge_route", input: "route" }, { live: true }),
    edge_id: f.string("Id of the edge.", { internal: true }),
    route_id: f.string("Id of the route.", { internal: true }),
    cookie_hash: f.string("SHA-256 of the cookie.", { internal: true }),
    login: f.string("What edges know of the login, as JSON.", { internal: true, maxBytes: 65_536 }),
    tokens: f.string("The provider's tokens, as JSON.", { internal: true, secret: true, maxBytes: 65_536 }),
  },
  operations: ["get", "list", "delete"],
  claims: ({ cookie_hash }) => (cookie_hash === "" ? [] : [{ space: "login cookie", name: cookie_hash, global: true }]),
  traffic: true,
  unrecorded: true,
  ownedBy: { kind: "application_user", field: "application_user_id" },
});
