/** Calls of operations by MCP tools, with fewer rights than the key has. */
import { maxReasonBytes } from "../operation/reason.ts";
import type { ApiPrincipal, Operation } from "../operation/call.ts";
import type { Api } from "../../mcp/parts/api-path.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { RunInner } from "../http/inner-calls.ts";

export interface McpCalls {
  readonly run: RunInner;
  readonly exchange: ApiExchange;
  readonly baseUrl: string;
  readonly principal: ApiPrincipal;
  /** Whether the tool may change the configuration. */
  readonly mayChange: boolean;
  /** Counts a call for the key's rate limit. Throws `Refusal`. */
  admit(): void;
}

/** How long a change waits for the edges to serve it, seconds. */
const waitSeconds = 10;

export function apiFor({ run, exchange, baseUrl, principal, mayChange, admit }: McpCalls): Api {
  return async ({ method, path, body, reason, withRightsOfKey = false }) => {
    admit();
    const reply = await run(exchange, baseUrl, {
      method,
      path,
      ...(body && { body }),
      principal: withRightsOfKey ? { ...principal, isConcealed: true } : readerOf(principal),
      headers: {
        ...(mayChange && { prefer: `wait=${waitSeconds}` }),
        ...(reason !== undefined && { "postern-reason": encodeURIComponent(cutToBytes(reason, maxReasonBytes)) }),
      },
      check(operation, query) {
        if (!mayChange && !isHarmless(operation, query))
          throw new Error(`${operation.id} may not be called by this tool`);
      },
    });
    return JSON.parse(String(reply.body));
  };
}

/** M1: a tool that only reads calls only operations that change nothing. */
function isHarmless({ method, reads }: Operation, query: URLSearchParams): boolean {
  return method === "GET" || reads === true || query.get("dry_run") === "true";
}

/** M4: returns a principal that cannot change anything and sees no secrets. */
export function readerOf(principal: ApiPrincipal): ApiPrincipal {
  const { scope } = principal;
  return {
    ...principal,
    operator: false,
    scope: {
      write: false,
      secrets: false,
      exchanges: false,
      kinds: scope?.kinds,
      prefixes: scope?.prefixes,
    },
  };
}

/** Cuts after a whole character, and replaces control characters. */
function cutToBytes(text: string, max: number): string {
  let cut = "";
  for (const sign of text.toWellFormed().replaceAll(/\p{Cc}/gu, " ")) {
    if (Buffer.byteLength(cut + sign) > max) break;
    cut += sign;
  }
  return cut;
}
