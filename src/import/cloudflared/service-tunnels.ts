/** Converts services of cloudflared to tunnels of an agent file. */
import { resolve } from "node:path";
import type { JsonObject } from "../../lib/json.ts";

interface Said {
  /** Absent if the agent cannot serve the service. */
  readonly tunnel?: JsonObject;
  /** Additional text of the report line. */
  readonly text?: string;
}

/** @param option returns the value of a key of `originRequest` */
export function tunnelFor(service: string, option: (key: string) => string | undefined, folder: string): Said {
  if (/^(?:http_status:\d+)?$/.test(service)) return {};
  if (service === "hello_world" || service === "hello-world") return { text: "a test page: run `postern dev` for one" };
  if (service === "bastion" || service === "socks-proxy") {
    return { text: "the agent does not publish a SOCKS proxy or a bastion. Publish each service separately" };
  }
  const socket = /^unix:(?:\/\/)?(.+)$/.exec(service)?.[1];
  if (socket !== undefined)
    return { tunnel: withOptions({ proto: "http", addr: `unix:${resolve("/", socket)}` }, false, option, folder) };
  if (service.startsWith("unix+tls:"))
    return { text: "the agent does not use TLS on a socket. Let the service listen without TLS on the socket" };
  const url = URL.parse(service);
  if (url?.protocol === "http:" || url?.protocol === "https:") {
    const isTls = url.protocol === "https:";
    const tunnel = withOptions({ proto: "http", addr: `${url.protocol}//${url.host}` }, isTls, option, folder);
    if (url.pathname === "/" && url.search === "") return { tunnel };
    return { tunnel, text: "addr of a tunnel, without the path: cloudflared ignores the path of a service, too" };
  }
  const tcp = /^(tcp|ssh|rdp|smb):\/\/([^/]+)\/?$/.exec(service);
  if (tcp) {
    const [, scheme = "", address = ""] = tcp;
    const port = { ssh: 22, rdp: 3389, smb: 445 }[scheme];
    const addr = /:\d+$/.test(address) || port === undefined ? address : `${address}:${port}`;
    const text =
      "a tcp tunnel with a public port, which everybody can reach. Visitors need no cloudflared. Add ip_restriction if not everybody may connect";
    return { tunnel: { proto: "tcp", addr }, text };
  }
  return { text: `"${service}" is not a service that cloudflared documents` };
}

function withOptions(
  tunnel: JsonObject,
  isTls: boolean,
  option: (key: string) => string | undefined,
  folder: string,
): JsonObject {
  const authorities = option("caPool");
  const name = option("originServerName");
  return {
    ...tunnel,
    ...(option("httpHostHeader") !== undefined && { host_header: option("httpHostHeader") }),
    ...(option("http2Origin") === "true" && isTls && { upstream_protocol: "http2" }),
    ...(isTls && authorities !== undefined && { upstream_tls_verify_cas: resolve(folder, authorities) }),
    ...(isTls && name !== undefined && { upstream_server_name: name }),
    // cloudflared also verifies the certificates of services on its own machine.
    ...(isTls && option("noTLSVerify") !== "true" && { upstream_tls_verify: true }),
  };
}
