/**
 * Cross-origin access for pages in browsers (Fetch standard, "HTTP extensions"): only from origins that the
 * operator lists. Keys travel in a header field that a page has to know, never in cookies, so credentials are not
 * allowed to anybody.
 */
import type { IncomingMessage } from "node:http";
import { headers as answerHeaders } from "../description/response-headers.ts";

/** How long a browser may keep the answer to a preflight, seconds. */
const preflightSeconds = 600;

const requestFields =
  "authorization, content-type, service-version, ngrok-version, if-match, if-none-match, idempotency-key, prefer, postern-reason";
const answerFields = [...Object.keys(answerHeaders), "Ngrok-Operation-Id"].join(", ").toLowerCase();

export interface Cors {
  /** Header fields of the answer to `request`: names and values in turn. */
  fields(request: IncomingMessage): readonly string[];
  /** Header fields that allow what a browser asks before it sends; undefined when nobody asks, or may. */
  preflight(request: IncomingMessage): readonly string[] | undefined;
}

/** @param methods that the API has anywhere */
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
/** The answer to another origin has other fields. */
const varies = ["vary", "origin"] as const;
