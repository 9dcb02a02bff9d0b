import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const applicationUser = defineResource({
  name: "application_user",
  schemaName: "ApplicationUser",
  path: "/app/users",
  listKey: "application_users",
  idPrefix: "appusr",
  doc: "A person who has logged in at a route. Deleting a user ends all of the user's sessions.",
  fields: {
    identity_provider: f.object("The identity provider of the user.", {
      name: f.string("Name of the provider."),
      url: f.string("URL of the provider.", { maxBytes: 2048 }),
    }),
    provider_user_id: f.string("The user's id at the provider.", { maxBytes: 1024 }),
    username: f.string("User name at the provider.", { maxBytes: 1024 }),
    email: f.string("E-mail address at the provider.", { maxBytes: 1024 }),
    name: f.string("Name at the provider.", { maxBytes: 1024 }),
    last_active: f.timestamp("Time of the user's last request."),
    last_login: f.timestamp("Time of the user's last login."),
  },
  operations: ["get", "list", "delete"],
  unrecorded: true,
  packed: {
    keys: ["provider_user_id"],
    own: ["username", "email", "name", "last_active", "last_login"],
    common: ["identity_provider"],
  },
  claims: ({ identity_provider, provider_user_id }) => [
    { space: `application user of ${identity_provider?.url ?? ""}`, name: provider_user_id },
  ],
});
