/** URLs of endpoints: a scheme, a host and, where it does not follow from the scheme, a port. */
import { hostportIssue } from "../lib/hostport.ts";
import type { StringFormat } from "./fields.ts";

export type EndpointScheme = "https" | "tls" | "tcp";

/** Stored in lower case. */
export const endpointUrl: StringFormat = {
  name: "endpoint-url",
  example: "https://app.example.com",
  reason: "endpoint_url_invalid",
  check(text) {
    const [, scheme = "", address = ""] = /^([a-z]+):\/\/([^/?#@]*)\/?$/i.exec(text) ?? [];
    if (!/^(?:https|tls|tcp)$/i.test(scheme)) return "be an https://, tls:// or tcp:// URL without a path";
    if (/^tcp$/i.test(scheme) && !/:\d+$/.test(address)) return "name a port because TCP has no default port";
    return hostportIssue(withPort(address));
  },
  normalize: (text) => text.toLowerCase().replace(/\/$/, ""),
};

/** The parts of a URL that `endpointUrl` has passed. */
export function parseEndpointUrl(url: string): { readonly scheme: EndpointScheme; readonly hostport: string } {
  const at = url.indexOf("://");
  return { scheme: url.slice(0, at) as EndpointScheme, hostport: withPort(url.slice(at + 3)) };
}

/** A hostport of `parseEndpointUrl`. */
export function splitHostport(hostport: string): { readonly host: string; readonly port: number } {
  const at = hostport.lastIndexOf(":");
  return { host: hostport.slice(0, at), port: Number(hostport.slice(at + 1)) };
}

/** HTTPS and TLS are at 443 unless something else is said. */
function withPort(address: string): string {
  return /:\d+$/.test(address) ? address : `${address}:443`;
}
