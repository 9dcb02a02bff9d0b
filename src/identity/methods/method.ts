/**
 * How visitors of a route log in. OAuth and OpenID Connect are one method (`code-method.ts`). Other methods implement
 * the same interface behind the same guard, flows and sessions.
 */
import type { Answer } from "../../traffic/step.ts";
import type { Tokens } from "../calls/provider-connection.ts";
import type { LoggedIn, Renewed } from "../calls/login-client.ts";
import type { Flow } from "../browser/flow.ts";

/** A login that started at the provider. */
export interface Arrival extends LoggedIn {
  /** Valid for one session. */
  readonly id: string;
  readonly returnPath: string;
}

export interface LoginMethod {
  /** Name of the module. */
  readonly kind: "oauth" | "oidc" | "saml";
  /** How long a response could be replayed, if the provider does not detect that itself, milliseconds. */
  readonly repeatableMs?: number;
  /** The client in use. */
  readonly clientId: string;
  /** Distinguishes the realms of different clients: the client id, or for a changing client, how it is found. */
  readonly realmId: string;
  /** Name shown to visitors. */
  readonly title: string;
  /**
   * Distinguishes this provider's users from others: issuer, entity id, or origin. "" until the provider's metadata is
   * known.
   */
  readonly url: string;
  /**
   * Resolves when `url` is known. Rejects with `LoginRefusal` if it cannot be determined. Absent if it is always known.
   */
  known?(): Promise<unknown>;
  /** Scopes that a session must have been granted. */
  readonly scopes: readonly string[];
  /** The route's lists need one of these scopes; absent or empty if they need none. */
  readonly neededScopes?: readonly string[];
  /** Whether tokens are forwarded to the service behind the route. */
  readonly forwardsTokens: boolean;
  /** Callback path on the login host. */
  readonly callbackPath: string;
  /** URL from which a provider reads this login's metadata; absent if there is none. */
  readonly metadataUrl?: string;
  /** Advice for the operator although logins work, for traces and explanations. */
  readonly warning?: string | undefined;
  /** Returns the redirect location, or an answer such as a form. Rejects with `LoginRefusal`. */
  begin(
    flow: Flow,
    state: string,
    prompt: string | undefined,
    host: string,
  ): string | Answer | Promise<string | Answer>;
  /** Returns the identity for a provider's response. Rejects with `LoginRefusal`. */
  finish(parameters: ReadonlyMap<string, string>, flow: Flow): Promise<LoggedIn>;
  /** Handles a response that the provider sent unasked; undefined if it does not belong to this method. */
  arrive?(parameters: ReadonlyMap<string, string>, host: string): Promise<Arrival | undefined>;
  /** Absent if only a new login can verify the visitor. */
  renew?(tokens: Tokens, subject: string): Promise<Renewed>;
  /**
   * Returns how the visitor logs out at the provider, too: a location or an answer.
   *
   * @param host host at which the visitor was logged in
   */
  logout?(tokens: Tokens, returnUrl: string, host: string): Promise<string | Answer | undefined>;
}
