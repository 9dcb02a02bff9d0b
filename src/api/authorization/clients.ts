/** Clients that are not browsers: who they are, and where they may send a person's browser. */
import { createHmac } from "node:crypto";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";

import { isLoopback, isRegistered, redirectIssue } from "../../lib/redirect-uris.ts";
import type { AuthorizationAnswer, AuthorizationQuestion } from "../../identity/machines/authorization-questions.ts";
import { hashOf, isSame } from "./stored-grant.ts";
import type { MetadataDocuments } from "./metadata-documents.ts";
import type { KnownClient } from "./known-client.ts";
import { clientIn } from "./known-client.ts";

type QuestionOf<Name extends AuthorizationQuestion["name"]> = Extract<AuthorizationQuestion, { readonly name: Name }>;

const maxClientId = 1_600;
const longestKey = 256;
const maxRegistration = 1_000;
const signatureBytes = 24;
const dynamicForm = /^dyn_([\w-]+)\.([\w-]{32})$/;

/** Names a client in a grant: its id, or the digest of a long one. */
export function clientKey(clientId: string): string {
  return clientId.length <= longestKey && !dynamicForm.test(clientId) ? clientId : `dynamic:${hashOf(clientId)}`;
}

/** Whether the client may send a person's browser to the redirect URI, by the route's rules. */
export async function verifyClient(
  accountId: string,
  { clientId, redirectUri, registration, clientIds, redirectUris }: QuestionOf<"client">,
  documents: MetadataDocuments,
  key: string | undefined,
): Promise<AuthorizationAnswer> {
  if (clientId === "" || clientId.length > maxClientId) return refuseClient("client_id is missing or too long");
  const wrong = redirectIssue(redirectUri);
  if (wrong !== undefined) return refuseClient(`redirect_uri must ${wrong}`);
  const isListed = clientIds.includes(clientId);
  if (clientIds.length > 0 && !isListed) return refuseClient("the route does not list this client_id in client_ids");
  if (!isLoopback(redirectUri) && !redirectUris.includes(redirectUri)) {
    return refuseClient(`the route does not list the redirect URI "${redirectUri}" in redirect_uris`);
  }
  const found = await findClient();
  if (typeof found === "string") return refuseClient(found);
  if (!isRegistered(redirectUri, found.redirectUris)) {
    return refuseClient("the client has not registered this redirect_uri");
  }
  return { name: "client", title: found.title, key: clientKey(clientId) };

  async function findClient(): Promise<KnownClient | string> {
    if (dynamicForm.test(clientId)) {
      if (!registration.includes("dynamic")) return "the route does not accept registered clients";
      return readRegisteredClient(accountId, clientId, key) ?? "the client is not registered at this server";
    }
    if (/^https?:/.test(clientId) && registration.includes("metadata"))
      return await documents.find(accountId, clientId);
    if (registration.includes("listed") && isListed) {
      // The route itself lists the redirect URI, or it leads to the person's own machine.
      return { title: clientId, redirectUris: [redirectUri] };
    }
    return "the route does not accept clients of this kind";
  }
}

function refuseClient(description: string): AuthorizationAnswer {
  return { name: "refused", error: "invalid_client", description };
}

/**
 * RFC 7591. The client id has the registration in it, signed for this account, so a registration stores nothing and a
 * flood of them costs only its requests.
 */
export function registerClient(
  accountId: string,
  { metadata: text }: QuestionOf<"register">,
  key: string | undefined,
  nowMs: number,
): AuthorizationAnswer {
  const invalid = (error: string, description: string): AuthorizationAnswer => ({
    name: "refused",
    error,
    description,
  });
  if (key === undefined) return invalid("temporarily_unavailable", "try again in a moment");
  let metadata: JsonObject;
  try {
    metadata = parseJsonObject(Buffer.from(text, "latin1"));
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    return invalid("invalid_client_metadata", `the body ${error.message}`);
  }
  const found = clientIn(metadata, "");
  if (typeof found === "string") {
    return invalid(found.startsWith("redirect_uris") ? "invalid_redirect_uri" : "invalid_client_metadata", found);
  }
  const issuedAt = Math.floor(nowMs / 1000);
  const payload = Buffer.from(JSON.stringify([found.title, found.redirectUris, issuedAt])).toString("base64url");
  if (payload.length > maxRegistration) {
    return invalid("invalid_client_metadata", "client_name and redirect_uris are too long together");
  }
  const client = {
    client_id: `dyn_${payload}.${signPayload(accountId, payload, key)}`,
    client_id_issued_at: issuedAt,
    client_name: found.title,
    redirect_uris: found.redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  return { name: "registered", client: JSON.stringify(client) };
}

function readRegisteredClient(accountId: string, clientId: string, key: string | undefined): KnownClient | undefined {
  const [, payload = "", given = ""] = dynamicForm.exec(clientId) ?? [];
  if (key === undefined || !isSame(given, signPayload(accountId, payload, key))) return undefined;
  const [title, redirectUris] = JSON.parse(Buffer.from(payload, "base64url").toString()) as [string, string[]];
  return { title, redirectUris };
}

function signPayload(accountId: string, payload: string, key: string): string {
  const digest = createHmac("sha256", Buffer.from(key, "base64url"))
    .update(`client\0${accountId}\0${payload}`)
    .digest();
  return digest.subarray(0, signatureBytes).toString("base64url");
}
