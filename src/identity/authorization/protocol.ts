/**
 * OAuth 2.1 as both authorization servers speak it: that of each account on the login host, and that of the API's own
 * `/mcp`. Without sockets and storage.
 */
import type {
  AuthorizationAnswer,
  AuthorizationError,
  AuthorizationQuestion,
} from "../machines/authorization-questions.ts";
import { isLoopback } from "../../lib/redirect-uris.ts";

/** Maximum length of the client's state, characters. */
export const maxState = 1024;
/** RFC 7636 §4.2: the S256 challenge is 32 bytes in base64url. */
const challengeForm = /^[\w-]{43}$/;

export type Parameters = ReadonlyMap<string, string>;

/** RFC 8414, and OpenID discovery. */
export function serverMetadata(issuer: string, at = issuer): Readonly<Record<string, unknown>> {
  return {
    issuer,
    authorization_endpoint: `${at}/authorize`,
    token_endpoint: `${at}/token`,
    registration_endpoint: `${at}/register`,
    revocation_endpoint: `${at}/revoke`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

/** What the client asks of the person (OAuth 2.1 §4.1.1). */
export interface CodeRequest {
  readonly challenge: string;
  readonly scopes: readonly string[];
}

/** Reads the request of a verified client. @param offered scopes; the first one is the default */
export function codeRequestIn(parameters: Parameters, offered: readonly string[]): CodeRequest | AuthorizationError {
  const one = (name: string): string => parameters.get(name) ?? "";
  if (one("response_type") !== "code") return makeError("unsupported_response_type", "response_type must be code");
  if (parameters.has("request") || parameters.has("request_uri")) {
    return makeError("request_not_supported", "request and request_uri are not supported");
  }
  if (one("response_mode") !== "" && one("response_mode") !== "query") {
    return makeError("invalid_request", "response_mode must be query");
  }
  if (one("code_challenge_method") !== "S256" || !challengeForm.test(one("code_challenge"))) {
    return makeError("invalid_request", "PKCE is required: code_challenge with code_challenge_method=S256");
  }
  const scopes = one("scope") === "" ? offered.slice(0, 1) : [...new Set(one("scope").split(" "))];
  if (scopes.some((scope) => !offered.includes(scope))) {
    return makeError("invalid_scope", `the scopes are ${offered.join(" ")}`);
  }
  return { challenge: one("code_challenge"), scopes };
}

/** Reads the request at the token endpoint (OAuth 2.1 §3.2). */
export function tokenQuestionIn(form: Parameters): AuthorizationQuestion | AuthorizationError {
  const one = (name: string): string => form.get(name) ?? "";
  if (one("client_id") === "") return makeError("invalid_request", "client_id is missing");
  const shared = { clientId: one("client_id"), resource: one("resource") };
  switch (one("grant_type")) {
    case "authorization_code": {
      const given = { code: one("code"), redirectUri: one("redirect_uri"), verifier: one("code_verifier") };
      return { name: "exchange", ...given, ...shared };
    }
    case "refresh_token":
      return { name: "refresh", token: one("refresh_token"), scope: one("scope"), ...shared };
    default:
      return makeError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token");
  }
}

/** Returns the answer to a program. Undefined asks it to try again in a moment. */
export function programAnswer(answer: AuthorizationAnswer | undefined): {
  readonly status: number;
  readonly body: object;
} {
  switch (answer?.name) {
    case "refused":
      return { status: 400, body: errorBody(answer) };
    case "tokens": {
      const { accessToken, refreshToken, expiresIn, scopes } = answer;
      const shared = { access_token: accessToken, token_type: "Bearer", expires_in: expiresIn };
      return { status: 200, body: { ...shared, refresh_token: refreshToken, scope: scopes.join(" ") } };
    }
    case "registered":
      return { status: 201, body: JSON.parse(answer.client) as object };
    case "done":
      return { status: 200, body: {} };
    default:
      return {
        status: 503,
        body: errorBody({ error: "temporarily_unavailable", description: "try again in a moment" }),
      };
  }
}

/** RFC 6749 §5.2. */
export function errorBody({ error, description }: AuthorizationError): object {
  return { error, error_description: description };
}

/** Adds parameters to a verified redirect URI, whose own query stays unchanged. */
export function clientAddress(redirectUri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${new URLSearchParams(given).toString()}`;
}

/** Returns where the answer goes, for the person who confirms: the client chose its name itself. */
export function destinationOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  if (isLoopback(redirectUri)) return "an application on this computer";
  return protocol === "https:" ? host : `the application for ${protocol} links`;
}

function makeError(error: string, description: string): AuthorizationError {
  return { error, description };
}
