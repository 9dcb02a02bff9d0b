/** Logins as rules of policies ask for them, of the server that the policy runs in. */

/** What is asked of visitors, and of whom. */
export type AskedLogin = AskedCodeLogin | AskedSamlLogin;

interface Asked {
  /** Logins of one host with the same provider, client and `auth_id` are one: "" where none is named. */
  readonly authId: string;
  /** Seconds; 0: no limit. */
  readonly maximumDuration: number;
  readonly inactivityTimeout: number;
  /** Seconds; 0: the provider is asked at login only. */
  readonly checkInterval: number;
}

/** By the authorization code flow. */
export interface AskedCodeLogin extends Asked {
  /** A provider that is known by name, or an issuer of OpenID Connect. */
  readonly provider:
    | { readonly kind: "oauth"; readonly name: string }
    | { readonly kind: "oidc"; readonly issuer: string };
  /** Undefined: the server's own app. */
  readonly client: AskedClient | undefined;
  readonly scopes: readonly string[];
  /** More parameters of the address to which visitors are sent. */
  readonly authorizeParameters: Readonly<Record<string, string>>;
  readonly emailAddresses: readonly string[];
  readonly emailDomains: readonly string[];
}

/** By SAML 2.0. */
export interface AskedSamlLogin extends Asked {
  readonly provider: { readonly kind: "saml" };
  /** XML of the provider's EntityDescriptor, and where it is to be had; "" for one of them. */
  readonly idpMetadata: string;
  readonly idpMetadataUrl: string;
  /** What the rule expects to be known by at the provider, "" where it does not say. */
  readonly entityId: string;
  readonly acsUrl: string;
  readonly nameIdFormat: string;
  readonly forceAuthn: boolean;
  readonly allowIdpInitiated: boolean;
  readonly authorizedGroups: readonly string[];
}

export interface AskedClient {
  /** How its id is found: the id itself, or what it is made by. */
  readonly name: string;
  /** Whether it may be another one later. */
  readonly mayChange: boolean;
  /** What it is now; undefined where that cannot be made. */
  read(): { readonly id: string; readonly secret: string } | undefined;
}
