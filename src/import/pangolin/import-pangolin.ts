/** Imports blueprints of Pangolin: edges and routes, and one agent file per site. */
import type { JsonObject } from "../../lib/json.ts";
import { entriesAt, itemsAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceEntry, SourceNode } from "../formats/source-tree.ts";
import { readYaml } from "../formats/yaml-tree.ts";
import { Ledger } from "../ledger/ledger.ts";
import { hasTemplate } from "../report/template-literal.ts";
import { Names, toSlug } from "../report/unique-names.ts";
import type { Imported } from "../report/report.ts";
import { pangolinKeys } from "./pangolin-keys.ts";
import { policyRules } from "./pangolin-rules.ts";

interface PangolinTarget {
  readonly node: SourceNode;
  readonly site: string;
  readonly address: string;
}

export function importPangolin(file: string, text: string, document: string): Imported {
  const root = readYaml(file, text);
  const reader = new BlueprintReader(new Ledger(pangolinKeys));
  for (const kind of ["proxy-resources", "public-resources"]) for (const one of entriesAt(root, kind)) reader.read(one);
  return reader.finish(root, document);
}

class BlueprintReader {
  readonly #ledger: Ledger;
  readonly #names = new Names();
  readonly #objects: Record<string, Record<string, JsonObject>> = {};
  readonly #sites = new Map<string, Record<string, JsonObject>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  read({ key, node }: SourceEntry): void {
    const protocol = textAt(node, "protocol") ?? textAt(node, "mode") ?? "http";
    if (textAt(node, "enabled") === "false") return this.#ledger.say(node, "left out", "the resource is not enabled");
    if (protocol === "udp") return this.#ledger.say(node, "left out", "Postern carries no UDP. Use a VPN");
    const targets = itemsAt(node, "targets").flatMap((target) => this.#targetOf(target, protocol === "tcp") ?? []);
    if (protocol === "tcp") {
      this.#ledger.say(nodeAt(node, "name"), "left out", "a tunnel has the name of the entry");
      for (const { site, address } of targets) this.#tunnel(site, [key], { proto: "tcp", addr: address });
      return;
    }
    if (protocol !== "http")
      return this.#ledger.say(node, "left out", `"${protocol}" is not a protocol that blueprints document`, true);
    const host = textAt(node, "full-domain")?.toLowerCase();
    if (host === undefined) return this.#ledger.say(node, "left out", "the resource has no full-domain", true);
    this.#readHttp(key, node, host, targets);
  }

  finish(root: SourceNode, document: string): Imported {
    const agents = [...this.#sites].map(
      ([site, tunnels]) => [site === "" ? "agent.yml" : `agent-${toSlug(site)}.yml`, { tunnels }] as const,
    );
    const order = ["tunnel_group_backend", "https_edge", "https_edge_route"];
    const objects = Object.fromEntries(
      order.flatMap((kind) => (this.#objects[kind] ? [[kind, this.#objects[kind]]] : [])),
    );
    return {
      ...(agents.length > 0 && { agentFiles: Object.fromEntries(agents) }),
      ...(Object.keys(objects).length > 0 && { document: { document, objects } }),
      secrets: [],
      report: this.#ledger.finish(root),
    };
  }

  #readHttp(key: string, node: SourceNode, host: string, targets: readonly PangolinTarget[]): void {
    const edge = this.#names.take([key]);
    const name = textAt(node, "name");
    this.#put("https_edge", edge, { ...(name !== undefined && { description: name }), hostports: [`${host}:443`] });
    const rules = policyRules(node, this.#ledger);
    const serverName = textAt(node, "tls-server-name");
    const routes = new Map<string, PangolinTarget[]>();
    for (const target of targets) {
      const match = this.#matchOf(target.node);
      if (match !== undefined) routes.set(match, [...(routes.get(match) ?? []), target]);
    }
    // Without a route for every path, an edge responds with 404, as Pangolin does.
    for (const [match, own] of routes) {
      const [kind = "", path = ""] = match.split(" ");
      const backend = this.#names.take([edge, path === "/" ? "all" : path]);
      this.#put("tunnel_group_backend", backend, { labels: { pangolin: backend } });
      for (const { site, address } of own) {
        const isTls = address.startsWith("https:");
        this.#tunnel(site, [backend, "tunnel"], {
          addr: address,
          labels: [`pangolin=${backend}`],
          ...(isTls && serverName !== undefined && { upstream_server_name: serverName }),
        });
      }
      const rewrite = own.flatMap(({ node: target }) => this.#rewriteOf(target, path)).slice(0, 1);
      const policy = [...rules, ...rewrite.map((action) => ({ actions: [action] }))];
      const headers = this.#headersOf(node);
      this.#put(
        "https_edge_route",
        this.#names.take([edge, kind === "exact_path" ? "exact" : "prefix", path === "/" ? "all" : path]),
        {
          edge_id: edge,
          match_type: kind,
          match: path,
          backend: { backend_id: backend },
          ...(Object.keys(headers).length > 0 && { request_headers: { add: headers } }),
          ...(policy.length > 0 && { traffic_policy: { value: { $json: { on_http_request: policy } } } }),
        },
      );
    }
  }

  #targetOf(node: SourceNode, isTcp: boolean): PangolinTarget | undefined {
    if (textAt(node, "enabled") === "false") {
      this.#ledger.say(node, "left out", "the target is not enabled");
      return undefined;
    }
    const host = textAt(node, "hostname") ?? textAt(node, "ip") ?? "";
    const port = textAt(node, "port") ?? "";
    if (!/^[\w.:-]+$/.test(host) || !/^\d{1,5}$/.test(port)) {
      this.#ledger.say(node, "left out", "the target needs a hostname and a port");
      return undefined;
    }
    const method = textAt(node, "method") ?? "http";
    const shown = host.includes(":") ? `[${host}]` : host;
    return {
      node,
      site: textAt(node, "site") ?? "",
      address: isTcp ? `${shown}:${port}` : `${method}://${shown}:${port}`,
    };
  }

  /** Returns a match such as `path_prefix /x`; undefined if an edge has no equivalent. */
  #matchOf(target: SourceNode): string | undefined {
    const path = textAt(target, "path");
    const kind = textAt(target, "path-match") ?? "prefix";
    if (path === undefined) return "path_prefix /";
    const isPlain = /^\/[\w.~/-]*$/.test(path) && !path.includes("//");
    if (kind === "exact" && isPlain) return `exact_path ${path}`;
    if (kind === "prefix" && isPlain) return `path_prefix ${path.replace(/\/+$/, "") || "/"}`;
    this.#ledger.say(
      target,
      "left out",
      "routes match exact paths and prefixes. Requests for this path go to the route around it, or get 404",
    );
    return undefined;
  }

  #rewriteOf(target: SourceNode, path: string): JsonObject[] {
    const kind = textAt(target, "rewrite-match");
    const to = textAt(target, "rewrite-path") ?? "";
    if (kind === undefined) return [];
    const isPlain = /^(?:\/[\w.~/-]*)?$/.test(to);
    if (!isPlain || (kind !== "stripPrefix" && kind !== "prefix")) {
      for (const key of ["rewrite-match", "rewrite-path"]) {
        this.#ledger.say(
          nodeAt(target, key),
          "left out",
          "only prefixes are replaced or removed. Write a rule with url-rewrite by hand",
        );
      }
      return [];
    }
    const prefix = path === "/" ? "" : path.replaceAll(/[.+^${}()|[\]\\*?]/g, "\\$&");
    const replacement = to.replace(/\/+$/, "");
    return [{ type: "url-rewrite", config: { from: `^(https?://[^/?]*)${prefix}/?`, to: `$1${replacement}/` } }];
  }

  #headersOf(node: SourceNode): JsonObject {
    const headers = itemsAt(node, "headers").flatMap((header): [string, string][] => {
      const name = textAt(header, "name")?.toLowerCase();
      const value = textAt(header, "value") ?? "";
      if (hasTemplate(value))
        this.#ledger.say(header, "left out", "the value would be read as a variable. Set the field in the service");
      return name === undefined || hasTemplate(value) ? [] : [[name, value]];
    });
    const given = textAt(node, "host-header");
    const host = given !== undefined && /^[\w.:-]+$/.test(given) ? given : undefined;
    if (given !== host) this.#ledger.say(nodeAt(node, "host-header"), "left out", "this is not a host name");
    return Object.fromEntries([...headers, ...(host === undefined ? [] : [["host", host] as const])]);
  }

  #tunnel(site: string, name: readonly string[], tunnel: JsonObject): void {
    const tunnels = this.#sites.get(site) ?? {};
    this.#sites.set(site, tunnels);
    tunnels[this.#names.take(name)] = tunnel;
  }

  #put(kind: string, name: string, fields: JsonObject): void {
    (this.#objects[kind] ??= {})[name] = fields;
  }
}
