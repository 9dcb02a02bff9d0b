/** A SAML login that a policy rule requires. */
import type { AskedSamlLogin } from "../../traffic/asked-login.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { Scope } from "../../traffic/module.ts";
import type { Logins } from "../login-engine.ts";
import { checkPlace } from "../methods/provider-place.ts";
import { addressesOf, nameOfRule } from "./own-name.ts";
import type { SamlLogins } from "./saml-logins.ts";

/**
 * A policy is text and cannot store a key or an identity. The rule's entity id therefore derives from its place, and
 * the server's key signs for it. Because that key signs for many accounts, only the rule's own addresses may be the
 * issuer. Throws if the policy expects another entity id, or its metadata URL is not allowed.
 */
export function makeAskedSamlLogin(asked: AskedSamlLogin, saml: SamlLogins, logins: Logins, scope: Scope): LoginGuard {
  const { authId, maximumDuration, inactivityTimeout, checkInterval, machines, idpMetadata, idpMetadataUrl } = asked;
  const { nameIdFormat, forceAuthn, allowIdpInitiated, authorizedGroups } = asked;
  checkPlace("saml", idpMetadataUrl, logins.settings);
  const addresses = addressesOf(nameOfRule(scope, authId), logins.settings);
  mustBe("entity_id", asked.entityId, addresses.entityId);
  mustBe("assertion_consumer_service_url", asked.acsUrl, addresses.acsUrl);
  const { samlSigning } = logins.context;
  return saml.guard(
    {
      login: {
        authId,
        maximumDuration,
        inactivityTimeout,
        checkInterval,
        machines,
        cookiePrefix: "",
        optionsPassthrough: false,
      },
      saml: { ...addresses, nameIdFormat, forceAuthn, allowIdpInitiated, authorizedGroups },
      signing: samlSigning,
      idpMetadata,
      idpMetadataUrl,
    },
    scope,
    logins,
  );
}

function mustBe(field: string, text: string, ownText: string): void {
  if (text !== "" && text !== ownText) throw new Error(`enforce saml: ${field} must be omitted, or be "${ownText}"`);
}
