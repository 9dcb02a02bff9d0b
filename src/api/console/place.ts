/** From where the console may be used: under a name that is the server's own, by its own pages. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { Refusal } from "../../lib/errors.ts";

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Throws `Refusal` where the Host could be anybody's: a name that somebody has made to lead here would make pages of
 * theirs ones of ours (DNS rebinding). An address cannot be made to lead elsewhere.
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

/** Throws `Refusal` for what a page of another site has asked for, and for what may come from one. */
export function checkOrigin({ headers, method }: IncomingMessage): void {
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  const isOwn = origin === undefined ? undefined : URL.parse(origin)?.host === headers.host;
  const reads = method === "GET" || method === "HEAD";
  if (isOwn === false || (site !== undefined && site !== "same-origin" && site !== "none") || (!reads && !isOwn)) {
    throw new Refusal("console_origin_refused");
  }
}
