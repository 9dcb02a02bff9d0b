/**
 * How visitors of a route log in: what differs between kinds of logins. OAuth and OpenID Connect are one method
 * (`code-method.ts`); whatever else lets visitors in is another one of these, behind the same guard, flows and sessions.
 */
import type { Answer } from "../../traffic/step.ts";
import type { Tokens } from "../calls/connection.ts";
import type { LoggedIn, Renewed } from "../calls/login-client.ts";
import type { Flow } from "../browser/flow.ts";

/** A login that was begun at the provider. */
export interface Arrival extends LoggedIn {
  /** Good for one session. */
  readonly id: string;
  readonly returnPath: string;
}

export interface LoginMethod {
  /** Name of the module. */
  readonly kind: "oauth" | "oidc" | "saml";
  /** For so long what a visitor brings back could be brought once more: no provider is asked about it. Milliseconds. */
  readonly repeatableMs?: number;
  /** The one that is used now. */
  readonly clientId: string;
  /** What tells its realm from those of other clients: the client, or where that may change, how it is found. */
  readonly realmId: string;
  /** As visitors know it. */
  readonly title: string;
  /** What users of it are told from others by: issuer, entity id, or origin; "" until the provider has said it. */
  readonly url: string;
  /** Resolves once `url` is there. Rejects with `LoginRefusal` where it cannot be found out. Absent: it always is. */
  known?(): Promise<unknown>;
  /** What a session must have been granted. */
  readonly scopes: readonly string[];
  /** The provider tells what the route's lists ask for only with one of these; absent or empty: no list needs a scope. */
  readonly neededScopes?: readonly string[];
  /** Tokens are handed to the service behind the route. */
  readonly forwardsTokens: boolean;
  /** The path on the login host at which its visitors come back. */
  readonly callbackPath: string;
  /** From where a provider reads what it has to know of this login; absent where nothing is read. */
  readonly metadataUrl?: string;
  /** What its operator should know though logins work, for traces and explanations. */
  readonly warning?: string | undefined;
  /** What sends the visitor there: a location, or an answer of its own such as a form. Rejects with `LoginRefusal`. */
  begin(
    flow: Flow,
    state: string,
    prompt: string | undefined,
    host: string,
  ): string | Answer | Promise<string | Answer>;
  /** Who came back with what the provider gave along. Rejects with `LoginRefusal`. */
  finish(parameters: ReadonlyMap<string, string>, flow: Flow): Promise<LoggedIn>;
  /** Who came with what a provider gave along by itself, and where to; undefined for what is not this method's. */
  arrive?(parameters: ReadonlyMap<string, string>, host: string): Promise<Arrival | undefined>;
  /** Absent: nothing but another login says whether somebody is still welcome. */
  renew?(tokens: Tokens, subject: string): Promise<Renewed>;
  /**
   * What sends the visitor on, to be logged out of the provider, too: a location, or an answer of its own.
   *
   * @param host where the visitor was logged in
   */
  logout?(tokens: Tokens, returnUrl: string, host: string): Promise<string | Answer | undefined>;
}
