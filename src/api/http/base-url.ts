import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** Returns the base URL that the client called, for URIs in responses. A proxy in front sends it in `X-Forwarded-*`. */
export function baseUrlOf({ headers }: IncomingMessage): string {
  const { host } = headers;
  if (headers["x-forwarded-proto"] !== undefined || headers["x-forwarded-host"] !== undefined)
    return readProxied(headers);
  if (host !== lastHost) {
    lastHost = host;
    lastBase = readProxied(headers);
  }
  return lastBase;
}

let lastHost: string | undefined;
let lastBase = "http://localhost";

function readProxied(headers: IncomingHttpHeaders): string {
  const proto = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  const forwarded = headers["x-forwarded-host"];
  const host = typeof forwarded === "string" && hostForm.test(forwarded) ? forwarded : (headers.host ?? "");
  return hostForm.test(host) ? `${proto}://${host}` : `${proto}://localhost`;
}

const hostForm = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;

/** Whether `text` can be the value of a Host field: a name or an address, with an optional port. */
export function isHostField(text: string): boolean {
  return hostForm.test(text);
}

/** Whether the client runs on this machine and calls directly, without a proxy or a DNS name rebound to it. */
export function isLocal(request: IncomingMessage): boolean {
  const peer = request.socket.remoteAddress ?? "";
  const { headers } = request;
  if (!/^(?:127\.|::1$|::ffff:127\.)/.test(peer) || headers["x-forwarded-for"] !== undefined) return false;
  return /^(?:localhost|127\.[0-9.]+|\[::1\])(?::[0-9]+)?$/i.test(headers.host ?? "");
}
