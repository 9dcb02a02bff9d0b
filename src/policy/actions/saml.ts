import { listOf, types } from "../../cel/checking/cel-types.ts";
import { f } from "../../schema/fields.ts";
import { entityDescriptor, providerUrl, samlChoices } from "../../schema/login-schema.ts";
import { defineAction } from "../language/action.ts";
import { idleField, machineClientRule, refuseCookieDomain, samlLoginFields, sharedOf } from "../parts/login-fields.ts";
import { identityOf, loginAction, loginResults } from "../parts/login-action.ts";

const sessionField = "current_session_id";

const ownAddress = (doc: string) =>
  f.string(`${doc} Optional: the policy's place determines it, and other values are rejected.`, { maxBytes: 2048 });

export const saml = defineAction({
  type: "saml",
  phases: ["on_http_request"],
  doc: "Allows visitors who have logged in with a SAML identity provider, and redirects others to the provider.",
  config: {
    idp_metadata: f.string("The provider's metadata: an XML EntityDescriptor.", {
      maxBytes: 65_536,
      format: { ...entityDescriptor, reason: "policy_value_refused" },
    }),
    idp_metadata_url: f.string(
      "URL of the EntityDescriptor, instead of the document. The server refreshes it as the document demands.",
      {
        maxBytes: 2048,
        format: { ...providerUrl, reason: "policy_value_refused" },
      },
    ),
    ...samlChoices,
    entity_id: ownAddress("URL of the login's own metadata, which is its entity id at the provider."),
    assertion_consumer_service_url: ownAddress("URL to which the provider sends its answers."),
    ...samlLoginFields,
    idle_session_timeout: idleField("idle_session_duration"),
  },
  rules: [
    refuseCookieDomain,
    machineClientRule,
    ({ idp_metadata, idp_metadata_url }) =>
      idp_metadata === "" && idp_metadata_url === ""
        ? { path: "idp_metadata", message: "is required", reason: "policy_field_missing" }
        : undefined,
  ],
  terminating: "may",
  results: {
    name: "saml",
    fields: { ...loginResults(sessionField), groups: listOf(types.string) },
  },
  compile(config) {
    const login = {
      ...sharedOf(config, config.idle_session_timeout),
      provider: { kind: "saml" },
      idpMetadata: config.idp_metadata,
      idpMetadataUrl: config.idp_metadata_url,
      entityId: config.entity_id,
      acsUrl: config.assertion_consumer_service_url,
      nameIdFormat: config.nameid_format,
      forceAuthn: config.force_authn,
      allowIdpInitiated: config.allow_idp_initiated,
      authorizedGroups: config.authorized_groups,
    } as const;
    return loginAction({
      authId: config.auth_id,
      address: config.idp_metadata_url,
      allowsPreflight: config.allow_cors_preflight,
      asked: () => ({ login, client: undefined }),
      result: (visitor, session) => ({
        identity: identityOf(visitor, session, sessionField),
        groups: visitor.groups ?? [],
      }),
    });
  },
});
