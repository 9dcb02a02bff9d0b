/** What clients without valid credentials learn: where the login is, and what a token needs. */
import type { Refusal } from "../../lib/errors.ts";
import { errorBody } from "../http/error-body.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import { headersOf } from "../http/request-checks.ts";
import type { Reply } from "../operation/call.ts";

export const mcpPath = "/mcp";
export const metadataPath = "/.well-known/oauth-protected-resource";

/** RFC 9728. @param hasLogin whether people can connect applications */
export function metadataReply(baseUrl: string, hasLogin: boolean): Reply {
  const body = {
    resource: baseUrl + mcpPath,
    resource_name: "Postern",
    // Clients request all scopes that they see here, and the others when a tool needs them.
    ...(hasLogin && { authorization_servers: [baseUrl], scopes_supported: ["read"] }),
    bearer_methods_supported: ["header"],
    resource_documentation: `${baseUrl}/docs/guides/assistants.md`,
  };
  return { status: 200, body: JSON.stringify(body) };
}

export function replyUnauthorized(
  refusal: Refusal,
  { operationId }: ApiExchange,
  baseUrl: string,
  hasLogin: boolean,
): Reply {
  const headers = challengeFor(refusal, baseUrl, hasLogin) ?? headersOf(refusal);
  return { ...errorBody(refusal, operationId), ...(headers && { headers }) };
}

/** RFC 6750 §3, RFC 9728 §5.1. */
function challengeFor({ reason, status }: Refusal, baseUrl: string, hasLogin: boolean): string[] | undefined {
  if (status !== 401 && reason !== "access_token_scope") return undefined;
  const parts = [`resource_metadata="${baseUrl}${metadataPath}${mcpPath}"`];
  if (reason === "access_token_scope") parts.unshift('error="insufficient_scope"', 'scope="read write"');
  else if (reason === "access_token_ended") parts.unshift('error="invalid_token"', 'scope="read"');
  else if (hasLogin) parts.unshift('scope="read"');
  return ["www-authenticate", `Bearer ${parts.join(", ")}`];
}
