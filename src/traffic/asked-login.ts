/** Logins that traffic policy rules require, as the server that runs the policy sees them. */
import type { MachineClients } from "./machine-clients.ts";

/** The login that visitors need. */
export type AskedLogin = AskedCodeLogin | AskedSamlLogin;

interface AskedLoginFields {
  /** Logins of one host with the same provider, client and `auth_id` are the same login; "" if none is named. */
  readonly authId: string;
  /** Seconds; 0: no limit. */
  readonly maximumDuration: number;
  readonly inactivityTimeout: number;
  /** Seconds; 0 means that the provider is contacted at login only. */
  readonly checkInterval: number;
  /** Clients that are not browsers; undefined if only browsers are admitted. */
  readonly machines: MachineClients | undefined;
}

/** A login with the authorization code flow. */
export interface AskedCodeLogin extends AskedLoginFields {
  /** A provider known by name, or an OpenID Connect issuer. */
  readonly provider:
    | { readonly kind: "oauth"; readonly name: string }
    | { readonly kind: "oidc"; readonly issuer: string };
  /** Undefined for the server's shared app. */
  readonly client: AskedClient | undefined;
  readonly scopes: readonly string[];
  /** Additional parameters of the authorization URL. */
  readonly authorizeParameters: Readonly<Record<string, string>>;
  readonly emailAddresses: readonly string[];
  readonly emailDomains: readonly string[];
}

/** A login with SAML 2.0. */
export interface AskedSamlLogin extends AskedLoginFields {
  readonly provider: { readonly kind: "saml" };
  /** The provider's EntityDescriptor as XML, and the URL to fetch it from; one of them is "". */
  readonly idpMetadata: string;
  readonly idpMetadataUrl: string;
  /** Entity id of this service at the provider; "" if the rule names none. */
  readonly entityId: string;
  readonly acsUrl: string;
  readonly nameIdFormat: string;
  readonly forceAuthn: boolean;
  readonly allowIdpInitiated: boolean;
  readonly authorizedGroups: readonly string[];
}

export interface AskedClient {
  /** How to find the client: its id, or the expression that produces it. */
  readonly name: string;
  /** Whether it can change later. */
  readonly mayChange: boolean;
  /** Returns the current credentials; undefined if they cannot be computed. */
  read(): { readonly id: string; readonly secret: string } | undefined;
}
