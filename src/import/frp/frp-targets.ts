/** Converts the service of an frp proxy to the target of a tunnel. */
import { resolve } from "node:path";
import type { JsonObject } from "../../lib/json.ts";
import { entriesAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { hasTemplate } from "../report/template-literal.ts";

interface FrpTarget {
  /** Keys of the tunnel; absent if the agent cannot serve the proxy. */
  readonly tunnel?: JsonObject;
  /** Why the agent cannot serve the proxy. */
  readonly why?: string;
  /** Whether the target is a file server, which needs an http tunnel. */
  readonly isHttp?: true;
}

export function targetOf(proxy: SourceNode, folder: string): FrpTarget {
  const plugin = textAt(proxy, "plugin.type");
  const address = textAt(proxy, "plugin.localAddr") ?? "";
  if (plugin === undefined) {
    const port = textAt(proxy, "localPort");
    if (port === undefined) return { why: "the proxy has no localPort" };
    const host = textAt(proxy, "localIP") ?? "127.0.0.1";
    return { tunnel: { addr: `${host.includes(":") ? `[${host}]` : host}:${port}` } };
  }
  switch (plugin) {
    case "static_file":
      return { tunnel: { addr: `file://${resolve(folder, textAt(proxy, "plugin.localPath") ?? ".")}` }, isHttp: true };
    case "unix_domain_socket":
      return { tunnel: { addr: `unix:${resolve("/", textAt(proxy, "plugin.unixPath") ?? "")}` } };
    case "http2https":
      return { tunnel: { addr: `https://${address}` } };
    case "http2http":
      return { tunnel: { addr: `http://${address}` } };
    case "https2http":
    case "https2https":
    case "tls2raw": {
      const crt = textAt(proxy, "plugin.crtPath");
      const key = textAt(proxy, "plugin.keyPath");
      if (crt === undefined || key === undefined)
        return {
          why: "without crtPath and keyPath, the plugin uses its own certificate. Use proto http, and let the server end TLS",
        };
      const addr = plugin === "https2https" ? `tls://${address}` : address;
      return { tunnel: { addr, terminate_at: "agent", crt: resolve(folder, crt), key: resolve(folder, key) } };
    }
    default:
      return { why: `the agent has no plugin "${plugin}". It publishes services, directories and sockets` };
  }
}

/** Returns the users of basic authentication, or undefined if there are none. */
export function basicAuthOf(proxy: SourceNode): readonly string[] | undefined {
  const user = textAt(proxy, "httpUser") ?? textAt(proxy, "plugin.httpUser");
  const password = textAt(proxy, "httpPassword") ?? textAt(proxy, "plugin.httpPassword");
  return user === undefined && password === undefined ? undefined : [`${user ?? ""}:${password ?? ""}`];
}

/** Whether the server accepts these users. */
export function isAcceptedBasicAuth([first = ""]: readonly string[]): boolean {
  const password = first.slice(first.indexOf(":") + 1);
  return !first.startsWith(":") && Buffer.byteLength(password) >= 8 && Buffer.byteLength(password) <= 128;
}

/** Returns keys of an http tunnel that change requests and responses. */
export function headerKeys(proxy: SourceNode, ledger: Ledger): JsonObject {
  const request = [...entriesAt(proxy, "requestHeaders.set"), ...entriesAt(proxy, "plugin.requestHeaders.set")];
  const response = entriesAt(proxy, "responseHeaders.set");
  const host = textAt(proxy, "hostHeaderRewrite") ?? textAt(proxy, "plugin.hostHeaderRewrite");
  const lines = (entries: typeof request): string[] =>
    entries.flatMap(({ key, node }) => {
      if (node.value.kind !== "text") return [];
      if (!hasTemplate(node.value.text)) return [`${key}:${node.value.text}`];
      ledger.say(node, "left out", "the value would be read as a variable. Set the field in the service");
      return [];
    });
  return {
    ...(host !== undefined && { host_header: host }),
    ...(request.length > 0 && { request_header: { add: lines(request) } }),
    ...(response.length > 0 && { response_header: { add: lines([...response]) } }),
  };
}
