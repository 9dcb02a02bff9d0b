import { idpUrl } from "../lib/server-names.ts";
import { f } from "../schema/fields.ts";
import { checkPlace } from "../identity/methods/provider-place.ts";
import { machineClientIssue } from "../traffic/machine-client-fields.ts";
import type { Logins } from "../identity/login-engine.ts";
import { requestSigningPair } from "../identity/saml/requests/signing-pair.ts";
import { loginConfig, loginFields } from "../identity/login-module-fields.ts";
import { entityDescriptor, providerUrl, samlChoices } from "../schema/login-schema.ts";
import { addressesOf, nameOfPlace } from "../identity/saml-login/own-name.ts";
import type { SamlAddresses } from "../identity/saml-login/own-name.ts";
import type { SamlLoginConfig, SamlLogins } from "../identity/saml-login/saml-logins.ts";
import { defineModule } from "../traffic/module.ts";
import type { Scope } from "../traffic/module.ts";

const readOnlyUrl = (doc: string) => f.string(doc, { readOnly: true, maxBytes: 2048 });

const fields = {
  ...loginFields,
  idp_metadata: f.string("The full XML IdP EntityDescriptor.", { maxBytes: 262_144, format: entityDescriptor }),
  idp_metadata_url: f.string("URL of the EntityDescriptor, instead of the document.", {
    maxBytes: 2048,
    format: providerUrl,
  }),
  ...samlChoices,
  entity_id: readOnlyUrl("The service provider's entity ID, a URL equal to metadata_url."),
  assertion_consumer_service_url: readOnlyUrl("Public URL of the Assertion Consumer Service."),
  single_logout_url: readOnlyUrl("Public URL of the Single Logout Service."),
  request_signing_certificate_pem: f.string(
    "PEM-encoded X.509 certificate of the key pair that signs SAML requests sent to the IdP.",
    { readOnly: true, maxBytes: 8192 },
  ),
  metadata_url: readOnlyUrl("Public URL hosting the service provider's metadata."),
  request_signing_key_pem: f.string("The private key of the key pair.", {
    internal: true,
    secret: true,
    maxBytes: 8192,
  }),
};

interface OwnSide extends Pick<SamlLoginConfig, "signing"> {
  readonly addresses: SamlAddresses;
}

type SamlIdentity = Readonly<
  Record<
    | "entity_id"
    | "assertion_consumer_service_url"
    | "single_logout_url"
    | "request_signing_key_pem"
    | "request_signing_certificate_pem",
    string
  >
>;

/** Returns the module. Without `logins` and `saml`, it is declared but cannot be enforced. */
export function samlWith(logins: Logins | undefined, saml: SamlLogins | undefined) {
  return defineModule({
    name: "saml",
    schemaName: "EndpointSAML",
    on: ["https_route"],
    doc: "Requires a login with a SAML identity provider.",
    acts: { request: ["refuse", "answer", "change the request"] },
    fields,
    rules: [
      machineClientIssue,
      ({ idp_metadata, idp_metadata_url }) =>
        idp_metadata === "" && idp_metadata_url === "" ? { path: "idp_metadata", message: "is required" } : undefined,
    ],
    async identify(nowMs) {
      const pair = await requestSigningPair(nowMs);
      return ({ id, names: own, httpsPort }) => {
        const entity = `${idpUrl(own, httpsPort)}/saml/${id}`;
        return {
          entity_id: entity,
          metadata_url: entity,
          assertion_consumer_service_url: `${entity}/acs`,
          single_logout_url: `${entity}/slo`,
          request_signing_certificate_pem: pair.certificatePem,
          request_signing_key_pem: pair.keyPem,
        };
      };
    },
    compile(config, scope) {
      if (!logins || !saml) throw new Error("enforce saml: this server has no support for logins");
      // Values from an agent have not been validated. Values from the API were validated when they were written.
      if (scope.endpointHost !== undefined) checkPlace("saml", config.idp_metadata_url, logins.settings);
      const { addresses, signing } = knownSide(config, scope, logins);
      return saml.guard(
        {
          login: loginConfig(config, 0),
          saml: {
            ...addresses,
            nameIdFormat: config.nameid_format,
            forceAuthn: config.force_authn,
            allowIdpInitiated: config.allow_idp_initiated,
            authorizedGroups: config.authorized_groups,
          },
          signing,
          idpMetadata: config.idp_metadata,
          idpMetadataUrl: config.idp_metadata_url,
        },
        scope,
        logins,
      );
    },
  });
}

/** URLs registered at providers: created with a route's module, or derived from the host for an agent's tunnel. */
function knownSide(config: SamlIdentity, scope: Scope, { settings, context }: Logins): OwnSide {
  if (scope.endpointHost !== undefined) {
    return { addresses: addressesOf(nameOfPlace(scope), settings), signing: context.samlSigning };
  }
  const addresses = {
    routeId: scope.ownerId,
    entityId: config.entity_id,
    acsUrl: config.assertion_consumer_service_url,
    sloUrl: config.single_logout_url,
  };
  const pair = {
    signingKeyPem: config.request_signing_key_pem,
    signingCertificatePem: config.request_signing_certificate_pem,
  };
  return { addresses, signing: () => pair };
}
