/**
 * Questions of an edge about grants for clients that are not browsers. The control plane decides and stores. The edge
 * relays requests and renders the answers.
 */
import type { Registration } from "../../traffic/machine-clients.ts";

export type AuthorizationQuestion =
  /** Whether the client may send the person's browser to the redirect URI. */
  | {
      readonly name: "client";
      readonly clientId: string;
      readonly redirectUri: string;
      readonly registration: readonly Registration[];
      readonly clientIds: readonly string[];
      readonly redirectUris: readonly string[];
    }
  /** Issues a code for a login. */
  | { readonly name: "approve"; readonly sessionId: string; readonly approval: Approval }
  /** Deletes the login of a person who did not confirm the client. */
  | { readonly name: "decline"; readonly sessionId: string }
  /** RFC 6749 §4.1.3. */
  | {
      readonly name: "exchange";
      readonly code: string;
      readonly clientId: string;
      readonly redirectUri: string;
      readonly verifier: string;
      readonly resource: string;
    }
  /** RFC 6749 §6. */
  | {
      readonly name: "refresh";
      readonly token: string;
      readonly clientId: string;
      readonly scope: string;
      readonly resource: string;
    }
  /** RFC 7009. */
  | { readonly name: "revoke"; readonly token: string; readonly clientId: string }
  /** RFC 7591. `metadata` is JSON. */
  | { readonly name: "register"; readonly metadata: string };

export interface Approval {
  readonly clientId: string;
  readonly clientName: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly accessTokenMinutes: number;
  readonly refreshTokenDays: number;
  /** The person has not seen the consent page, so the client must have an earlier grant. */
  readonly onlyIfKnown: boolean;
}

/** An error code of RFC 6749, 7591 or 8707, and an explanation for the client's developer. */
export interface AuthorizationError {
  readonly error: string;
  readonly description: string;
}

export type AuthorizationAnswer =
  | { readonly name: "client"; readonly title: string; readonly key: string }
  | { readonly name: "code"; readonly code: string }
  | { readonly name: "unknown_client" }
  | {
      readonly name: "tokens";
      readonly accessToken: string;
      readonly refreshToken: string;
      readonly expiresIn: number;
      readonly scopes: readonly string[];
    }
  | { readonly name: "done" }
  | { readonly name: "registered"; readonly client: string }
  | ({ readonly name: "refused" } & AuthorizationError);
