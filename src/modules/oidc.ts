import { f } from "../schema/fields.ts";
import { loginFields, providerUrl, scopes } from "../identity/login-fields.ts";
import { defineModule } from "../traffic/module.ts";

export const oidc = defineModule({
  name: "oidc",
  schemaName: "EndpointOIDC",
  on: ["https_route"],
  doc: "Lets only visitors in who sign in with an OpenID Connect provider.",
  acts: {},
  fields: {
    ...loginFields,
    issuer: f.string("URL of the OpenID provider; base URL for discovery.", {
      required: true,
      maxBytes: 2048,
      format: providerUrl,
    }),
    client_id: f.string("Client ID and audience.", { required: true }),
    client_secret: f.string("Client secret.", { required: true, secret: true, maxBytes: 1024 }),
    scopes,
  },
  compile() {
    throw new Error("enforce oidc: this server cannot log visitors in with it");
  },
});
