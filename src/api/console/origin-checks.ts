/** Restricts the console to the server's own names and to its own pages. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { Refusal } from "../../lib/errors.ts";

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Throws `Refusal` if the Host may be a name that someone else controls. Pages under a name that resolves to this
 * server would otherwise have our origin (DNS rebinding). IP addresses cannot be rebound.
 */
export function checkHost({ headers }: IncomingMessage, apiUrl: string | undefined): void {
  const host = URL.parse(`http://${headers.host ?? ""}/`)?.hostname ?? "";
  if (loopbackNames.has(host) || host.endsWith(".localhost") || isIP(host.replace(/^\[|\]$/g, "")) !== 0) return;
  if (apiUrl !== undefined && URL.parse(apiUrl)?.hostname === host) return;
  throw new Refusal(
    "console_host_refused",
    `the console does not serve ${JSON.stringify(host.slice(0, 128))}: start the server with --api-url, and use that name`,
  );
}

/** Throws `Refusal` for requests that a page of another site sent, or may have sent. */
export function checkOrigin({ headers, method }: IncomingMessage): void {
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  const isOwn = origin === undefined ? undefined : URL.parse(origin)?.host === headers.host;
  const reads = method === "GET" || method === "HEAD";
  if (isOwn === false || (site !== undefined && site !== "same-origin" && site !== "none") || (!reads && !isOwn)) {
    throw new Refusal("console_origin_refused");
  }
}
