/** The login world with routes that require a SAML login, by a module or by a rule. */
import assert from "node:assert/strict";
import { startLoginWorld } from "./login-world.ts";
import type { LoginWorld } from "./login-world.ts";
import { makeProviderKeys } from "./saml-idp.ts";
import { makeSamlProvider } from "./saml-provider.ts";
import type { SamlProvider, SamlRouteUrls } from "./saml-provider.ts";

export interface SamlWorld extends LoginWorld {
  readonly provider: SamlProvider;
  /** Adds a route. Returns its module as the API returns it, with the route's ID. */
  samlRoute(match: string, saml?: object): Promise<SamlRouteUrls & { readonly id: string }>;
  /** Returns the login's URLs at a host, as on the host's own page. */
  hostUrls(host: string, authId?: string): Promise<SamlRouteUrls>;
  /** Returns the URLs of a rule's login, with the certificate of the rule's own metadata. */
  ruleUrls(ownerId: string, authId?: string): Promise<SamlRouteUrls & { readonly id: string }>;
}

/** The providers of all worlds of this process share one key, because each world has a separate platform. */
let keys: ReturnType<typeof makeProviderKeys> | undefined;

export async function startSamlWorld(...options: Parameters<typeof startLoginWorld>): Promise<SamlWorld> {
  keys ??= makeProviderKeys();
  const [world, provider] = await Promise.all([startLoginWorld(...options), makeSamlProvider({ keys: await keys })]);
  /** With the certificate from the metadata. */
  const toldUrls = async (entity: string): Promise<SamlRouteUrls> => {
    const { status, text } = await world.browser().ask(entity);
    assert.equal(status, 200, text);
    const [, certificate] = /<(?:\w+:)?X509Certificate>([^<]+)</.exec(text) ?? [];
    return {
      entity_id: entity,
      assertion_consumer_service_url: `${entity}/acs`,
      single_logout_url: `${entity}/slo`,
      request_signing_certificate_pem: `-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`,
    };
  };
  return {
    ...world,
    provider,
    async samlRoute(match, saml = {}) {
      const id = await world.route(match, { saml: { idp_metadata: provider.metadata(), ...saml } });
      const shown = await world.platform.api("GET", `/edges/https/${world.edgeId}/routes/${id}/saml`);
      return { ...shown.body, id };
    },
    async hostUrls(host, authId) {
      const query = authId === undefined ? "" : `?auth_id=${authId}`;
      const { status, headers, text } = await world.browser().ask(`${world.origin(host)}/.postern/saml${query}`);
      assert.equal(status, 302, text);
      return await toldUrls(String(headers.location));
    },
    async ruleUrls(id, authId) {
      const own = authId === undefined ? "" : `-${authId}`;
      return { id, ...(await toldUrls(`${world.origin("idp.localhost")}/saml/${id}-rule${own}`)) };
    },
  };
}
