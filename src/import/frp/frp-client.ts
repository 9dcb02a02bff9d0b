/** Converts `frpc.toml` to an agent file, with edges and endpoints for proxies that need them. */
import { isIP } from "node:net";
import type { JsonObject } from "../../lib/json.ts";
import { itemsAt, nodeAt, textAt, textsAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { Ledger } from "../ledger/ledger.ts";
import { Names } from "../report/unique-names.ts";
import type { Imported, ReportLine } from "../report/report.ts";
import { frpcKeys } from "./frpc-keys.ts";
import { LocationRoutes } from "./locations.ts";
import { basicAuthOf, headerKeys, isAcceptedBasicAuth, targetOf } from "./frp-targets.ts";

interface ClientFile {
  readonly root: SourceNode;
  readonly folder: string;
}

const unsupported: Readonly<Record<string, string>> = {
  udp: "Postern carries no UDP. Use a VPN",
  sudp: "Postern carries no UDP. Use a VPN",
  xtcp: "Postern makes no direct connections. Publish a tcp tunnel with ip_restriction, or use a VPN",
  stcp: "Postern has no visitors. Publish a tcp tunnel with ip_restriction, or use a VPN",
  tcpmux: "Postern has no HTTP CONNECT multiplexer. Use a tls tunnel for each domain",
};

/** @param domain domain of the server for subdomains; undefined if no file contains it */
export function readClient(
  files: readonly ClientFile[],
  domain: string | undefined,
  document: string,
): Omit<Imported, "secrets"> {
  const client = new ClientReader(domain);
  const report: ReportLine[] = [];
  const agent: Record<string, unknown> = {};
  for (const file of files) {
    const ledger = new Ledger(frpcKeys);
    Object.assign(agent, agentKeys(file.root, ledger));
    const start = textsAt(file.root, "start");
    for (const proxy of itemsAt(file.root, "proxies")) client.read(proxy, file, start, ledger);
    report.push(...ledger.finish(file.root));
  }
  const { tunnels, objects } = client.finish();
  return {
    ...(Object.keys({ ...agent, ...tunnels }).length > 0 && {
      agentFile: { ...agent, ...(Object.keys(tunnels).length > 0 && { tunnels }) },
    }),
    ...(Object.keys(objects).length > 0 && { document: { document, objects } }),
    report,
  };
}

function agentKeys(root: SourceNode, ledger: Ledger): JsonObject {
  const level = textAt(root, "log.level");
  const to = textAt(root, "log.to");
  const dns = textAt(root, "dnsServer");
  const proxy = textAt(root, "transport.proxyURL");
  if (to === "console") ledger.say(nodeAt(root, "log.to"), "mapped", "the log goes to the terminal");
  if (proxy?.startsWith("ntlm:"))
    ledger.say(
      nodeAt(root, "transport.proxyURL"),
      "left out",
      "the agent does not use NTLM. Use an http:// or socks5:// proxy",
    );
  return {
    ...(level !== undefined && { log_level: level === "trace" ? "debug" : level }),
    ...(to !== undefined && to !== "console" && { log: to }),
    ...(dns !== undefined && { dns_resolver_ips: [dns] }),
    ...(proxy !== undefined && !proxy.startsWith("ntlm:") && { proxy_url: proxy }),
  };
}

class ClientReader {
  readonly #domain: string | undefined;
  readonly #names = new Names();
  readonly #tunnels: Record<string, JsonObject> = {};
  readonly #routes = new LocationRoutes();
  readonly #edges = new Map<string, JsonObject>();
  readonly #backends = new Map<string, JsonObject>();

  constructor(domain: string | undefined) {
    this.#domain = domain;
  }

  read(proxy: SourceNode, { root, folder }: ClientFile, start: readonly string[], ledger: Ledger): void {
    const name = textAt(proxy, "name") ?? "proxy";
    const type = textAt(proxy, "type") ?? "tcp";
    const why = this.#whyNot(proxy, name, type, start);
    if (why !== undefined) return ledger.say(proxy, "left out", why);
    const { tunnel, why: noTarget, isHttp } = targetOf(proxy, folder);
    if (!tunnel) return ledger.say(proxy, "left out", noTarget ?? "");
    const users = basicAuthOf(proxy);
    if (users && !isAcceptedBasicAuth(users)) {
      const text =
        "basic_auth needs a user and a password of 8 to 128 bytes. Without them the tunnel would be open, so it is left out: choose a longer password";
      ledger.say(proxy, "left out", text);
      for (const key of ["httpPassword", "plugin.httpPassword"]) ledger.say(nodeAt(proxy, key), "left out", text, true);
      return;
    }
    if (textAt(proxy, "routeByHTTPUser") !== undefined) {
      const text =
        "Postern does not route by the user of basic auth, so the proxy is left out. Give each service its own domain";
      ledger.say(proxy, "left out", text);
      return ledger.say(nodeAt(proxy, "routeByHTTPUser"), "left out", text, true);
    }
    if (name.startsWith("range:"))
      return ledger.say(proxy, "left out", "write one proxy for each port of the range, and import again");
    const group = textAt(proxy, "loadBalancer.group");
    const protocol = /^v([12])$/.exec(textAt(proxy, "transport.proxyProtocolVersion") ?? "")?.[1];
    const shared = { ...tunnel, ...(protocol !== undefined && { proxy_proto: protocol }) };
    if (type === "http" || isHttp) {
      const http = {
        proto: "http",
        ...shared,
        ...headerKeys(proxy, ledger),
        ...(users && { basic_auth: users }),
        ...(group !== undefined && { pooling_enabled: true }),
      };
      return this.#addHttp(proxy, name, type, http, ledger);
    }
    if (type === "https") {
      for (const host of this.#hostsOf(proxy, ledger))
        this.#add(name, {
          proto: "tls",
          ...shared,
          url: `tls://${host}`,
          ...(group !== undefined && { pooling_enabled: true }),
        });
      for (const key of ["plugin.hostHeaderRewrite", "plugin.requestHeaders"]) {
        const node = nodeAt(proxy, key);
        if (node)
          ledger.say(
            node,
            "left out",
            "the agent ends TLS and passes the bytes on. Use proto: http to change header fields",
          );
      }
      return;
    }
    this.#addTcp(proxy, name, shared, group, textAt(root, "serverAddr"), ledger);
  }

  finish(): { readonly tunnels: JsonObject; readonly objects: Record<string, Record<string, JsonObject>> } {
    const { tunnels, endpoints } = this.#routes.finish(this.#names);
    const kinds = { tunnel_group_backend: this.#backends, tcp_edge: this.#edges, cloud_endpoint: endpoints };
    const objects = Object.entries(kinds).flatMap(([kind, found]) =>
      found.size > 0 ? [[kind, Object.fromEntries(found)] as const] : [],
    );
    return { tunnels: { ...this.#tunnels, ...tunnels }, objects: Object.fromEntries(objects) };
  }

  #whyNot(proxy: SourceNode, name: string, type: string, start: readonly string[]): string | undefined {
    if (textAt(proxy, "enabled") === "false") return "the proxy is not enabled";
    if (start.length > 0 && !start.includes(name)) return "start does not list the proxy";
    return (
      unsupported[type] ??
      (["tcp", "http", "https"].includes(type) ? undefined : `"${type}" is not a type that frp documents`)
    );
  }

  #hostsOf(proxy: SourceNode, ledger: Ledger): string[] {
    const subdomain = textAt(proxy, "subdomain");
    const hosts = textsAt(proxy, "customDomains").map((host) => host.toLowerCase());
    if (subdomain === undefined) return hosts;
    if (this.#domain !== undefined) {
      const host = `${subdomain}.${this.#domain}`;
      ledger.say(nodeAt(proxy, "subdomain"), "mapped", `the host ${host}`);
      return [...hosts, host];
    }
    const text = "import frps.toml together with this file, which says the domain of subdomains";
    ledger.say(nodeAt(proxy, "subdomain"), "left out", text);
    return hosts;
  }

  #addHttp(proxy: SourceNode, name: string, type: string, tunnel: JsonObject, ledger: Ledger): void {
    const locations = textsAt(proxy, "locations").filter((path) => path !== "/" && path !== "");
    const subdomain = textAt(proxy, "subdomain");
    if (type === "tcp") {
      const text =
        "an http tunnel, for which the server chooses a URL: directories need HTTP. Set url for a name of yours";
      ledger.say(nodeAt(proxy, "remotePort"), "mapped differently", text);
      return this.#add(name, tunnel);
    }
    ledger.say(
      nodeAt(proxy, "type"),
      "mapped differently",
      "proto: http. Visitors use HTTPS, and plain HTTP is redirected",
    );
    if (locations.length === 0 && subdomain !== undefined && this.#domain === undefined) {
      this.#add(name, { ...tunnel, subdomain });
      for (const host of textsAt(proxy, "customDomains"))
        this.#add(name, { ...tunnel, url: `https://${host.toLowerCase()}` });
      return;
    }
    for (const host of this.#hostsOf(proxy, ledger)) {
      if (host.startsWith("*.")) {
        const text =
          "url of a tunnel. The wildcard covers one label, and must be reserved: postern api POST /reserved_domains";
        ledger.say(nodeAt(proxy, "customDomains"), "mapped differently", text);
      }
      this.#routes.add(host, name, locations.length === 0 ? [""] : locations, tunnel);
    }
  }

  #addTcp(
    proxy: SourceNode,
    name: string,
    tunnel: JsonObject,
    group: string | undefined,
    server: string | undefined,
    ledger: Ledger,
  ): void {
    const port = textAt(proxy, "remotePort");
    const isName =
      server !== undefined && isIP(server) === 0 && server.includes(".") && tunnel["terminate_at"] === undefined;
    if (port === undefined || port === "0" || !isName) {
      const text = `the server chooses the port: serverAddr is not a host name. For port ${port ?? ""}, create a TCP edge`;
      if (port !== undefined && port !== "0") ledger.say(nodeAt(proxy, "remotePort"), "mapped differently", text);
      if (port === "0") ledger.say(nodeAt(proxy, "remotePort"), "mapped", "the server chooses the port");
      return this.#add(name, {
        proto: tunnel["terminate_at"] === undefined ? "tcp" : "tls",
        ...tunnel,
        ...(group !== undefined && { pooling_enabled: true }),
      });
    }
    const key = this.#names.take([group ?? name]);
    const hostport = `${server.toLowerCase()}:${port}`;
    const known = [...this.#edges].find(([, edge]) => (edge["hostports"] as string[])[0] === hostport)?.[0];
    const edge = known ?? key;
    this.#backends.set(`${edge}-agents`, { labels: { frp: edge } });
    this.#edges.set(edge, { hostports: [hostport], backend: { backend_id: `${edge}-agents` } });
    this.#tunnels[key] = { ...tunnel, labels: [`frp=${edge}`] };
    ledger.say(nodeAt(proxy, "remotePort"), "mapped", `TCP edge ${hostport}, which the tunnel serves by its label`);
  }

  #add(name: string, tunnel: JsonObject): void {
    this.#tunnels[this.#names.take([name])] = tunnel;
  }
}
