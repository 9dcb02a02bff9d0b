/**
 * Cross-origin access for pages in browsers (Fetch standard, "HTTP extensions"), only from origins that the operator
 * lists. API keys are sent in a header that the page must know, never in cookies, so credentials are not allowed.
 */
import type { IncomingMessage } from "node:http";
import { headers as answerHeaders } from "../description/response-headers.ts";

/** How long a browser may cache the response to a preflight, seconds. */
const preflightSeconds = 600;

const requestFields =
  "authorization, content-type, service-version, ngrok-version, if-match, if-none-match, idempotency-key, prefer, postern-reason, mcp-session-id, mcp-protocol-version";
const answerFields = [...Object.keys(answerHeaders), "Ngrok-Operation-Id", "Mcp-Session-Id"].join(", ").toLowerCase();

export interface Cors {
  /** Returns header fields of the response to `request`: names and values in turn. */
  fields(request: IncomingMessage): readonly string[];
  /**
   * Returns the header fields that allow a preflight. Undefined if the request is no preflight or its origin is not
   * allowed.
   */
  preflight(request: IncomingMessage): readonly string[] | undefined;
}

/** @param methods all methods of the API */
export function makeCors(origins: readonly string[], methods: string): Cors {
  if (origins.length === 0) return { fields: () => none, preflight: () => undefined };
  const allowed: ReadonlyMap<string, readonly string[]> = new Map(
    origins.map((origin) => [
      origin,
      ["vary", "origin", "access-control-allow-origin", origin, "access-control-expose-headers", answerFields],
    ]),
  );
  const asked = ["access-control-allow-methods", methods, "access-control-allow-headers", requestFields];
  asked.push("access-control-max-age", String(preflightSeconds));
  const find = ({ headers }: IncomingMessage): readonly string[] | undefined => allowed.get(headers.origin ?? "");
  return {
    fields: (request) => find(request) ?? varies,
    preflight: (request) =>
      request.headers["access-control-request-method"] !== undefined && find(request) ? asked : undefined,
  };
}

const none: readonly string[] = [];
/** Responses differ by origin. */
const varies = ["vary", "origin"] as const;
