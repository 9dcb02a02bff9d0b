/** Imports `config.yml` of cloudflared: an agent file, and policies for hostnames with path rules. */
import { dirname, resolve } from "node:path";
import { entriesAt, isTrue, itemsAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { readYaml } from "../formats/yaml-tree.ts";
import type { JsonObject } from "../../lib/json.ts";
import { Ledger } from "../ledger/ledger.ts";
import { Names } from "../report/unique-names.ts";
import type { Imported } from "../report/report.ts";
import { cloudflaredKeys } from "./cloudflared-keys.ts";
import { tunnelFor } from "./service-tunnels.ts";

interface Rule {
  readonly node: SourceNode;
  /** Lower case; undefined for all hostnames. */
  readonly hostname: string | undefined;
  /** A regular expression. */
  readonly path: string | undefined;
  readonly service: string;
  /** The tunnel, if the agent can serve it. */
  readonly tunnel: JsonObject | undefined;
  /** Status of a service such as `http_status:404`. */
  readonly status: number | undefined;
}

export function importCloudflared(file: string, text: string, document: string): Imported {
  const root = readYaml(file, text);
  const ledger = new Ledger(cloudflaredKeys);
  const folder = dirname(resolve(file));
  const rules = itemsAt(root, "ingress").map((node) => ruleOf(node, root, folder, ledger));
  const names = new Names();
  const tunnels: Record<string, JsonObject> = {};
  const internal = new Map<Rule, string>();
  const endpoints: Record<string, JsonObject> = {};
  for (const rule of rules) {
    if (rule.tunnel?.["proto"] === "tcp") tunnels[names.take([rule.hostname ?? "tcp"])] = rule.tunnel;
  }
  for (const hostname of new Set(rules.flatMap((rule) => rule.hostname ?? []))) {
    const own = rulesFor(hostname, rules).filter(({ tunnel }) => tunnel?.["proto"] !== "tcp");
    const [first] = own;
    if (!first) continue;
    if (first.path === undefined && !first.tunnel && first.status === undefined) continue;
    if (first.path === undefined && first.tunnel) {
      tunnels[names.take([hostname])] = { ...first.tunnel, url: `https://${hostname}` };
      continue;
    }
    const policy = own.flatMap((rule) => policyRule(rule, internal));
    if (policy.length === 0) continue;
    endpoints[names.take(["endpoint", hostname])] = {
      url: `https://${hostname}`,
      type: "cloud",
      traffic_policy: { $json: { on_http_request: policy } },
    };
  }
  for (const [rule, url] of internal) {
    const { proto: _, ...rest } = rule.tunnel as JsonObject;
    tunnels[names.take([new URL(url).hostname])] = { ...rest, url, bindings: ["internal"] };
  }
  for (const rule of rules) if (rule.hostname === undefined) reportCatchAll(rule, rules, ledger);
  const level = textAt(root, "loglevel");
  const agentFile = {
    ...(level !== undefined && { log_level: level === "fatal" ? "error" : level }),
    ...(textAt(root, "logfile") !== undefined && { log: textAt(root, "logfile") }),
    ...(Object.keys(tunnels).length > 0 && { tunnels }),
  };
  return {
    ...(Object.keys(agentFile).length > 0 && { agentFile }),
    ...(Object.keys(endpoints).length > 0 && { document: { document, objects: { cloud_endpoint: endpoints } } }),
    secrets: [],
    report: ledger.finish(root),
  };
}

function ruleOf(node: SourceNode, root: SourceNode, folder: string, ledger: Ledger): Rule {
  const hostname = textAt(node, "hostname")?.toLowerCase();
  const service = textAt(node, "service") ?? "";
  const status = /^http_status:(\d{3})$/.exec(service)?.[1];
  const path = textAt(node, "path");
  const said = tunnelFor(
    service,
    (key) => textAt(node, `originRequest.${key}`) ?? textAt(root, `originRequest.${key}`),
    folder,
  );
  if (status !== undefined) ledger.say(nodeAt(node, "service"), "mapped", `custom-response with status ${status}`);
  else if (said.text !== undefined)
    ledger.say(nodeAt(node, "service"), said.tunnel ? "mapped differently" : "left out", said.text);
  if (hostname?.startsWith("*.")) {
    const text =
      "url of a tunnel. The wildcard covers one label, and must be reserved: postern api POST /reserved_domains";
    ledger.say(nodeAt(node, "hostname"), "mapped differently", text);
  }
  const isTcp = said.tunnel?.["proto"] === "tcp";
  if (isTcp)
    ledger.say(nodeAt(node, "hostname"), "mapped differently", "name of the tunnel. The server chooses the port");
  if (!said.tunnel && status === undefined && path === undefined && hostname !== undefined) {
    ledger.say(
      nodeAt(node, "hostname"),
      "left out",
      "the service of this rule is left out, so nothing serves the hostname",
    );
  }
  for (const holder of [node, root]) {
    if (entriesAt(holder, "originRequest.access").length > 0 && !isTrue(holder, "originRequest.access.required")) {
      ledger.say(
        nodeAt(holder, "originRequest.access"),
        "mapped",
        "not required, so cloudflared does not check it either",
      );
    }
  }
  return {
    node,
    hostname: hostname === "*" ? undefined : hostname,
    path,
    service,
    tunnel: said.tunnel,
    status: status === undefined ? undefined : Number(status),
  };
}

/** Returns the rules that cloudflared tries for a hostname, in order, up to the first that matches every path. */
function rulesFor(hostname: string, rules: readonly Rule[]): Rule[] {
  const matching = rules.filter(({ hostname: own }) => {
    if (own === undefined || own === hostname) return true;
    return own.startsWith("*.") && hostname.endsWith(own.slice(1));
  });
  const last = matching.findIndex(({ path }) => path === undefined);
  return last < 0 ? matching : matching.slice(0, last + 1);
}

function policyRule(rule: Rule, internal: Map<Rule, string>): JsonObject[] {
  const expressions =
    rule.path === undefined ? {} : { expressions: [`req.url.path.matches(${JSON.stringify(rule.path)})`] };
  if (rule.status !== undefined) {
    return [{ ...expressions, actions: [{ type: "custom-response", config: { status_code: rule.status } }] }];
  }
  if (!rule.tunnel) return [{ ...expressions, actions: [{ type: "custom-response", config: { status_code: 502 } }] }];
  const url = internal.get(rule) ?? `https://cloudflared-${internal.size + 1}.internal`;
  internal.set(rule, url);
  return [{ ...expressions, actions: [{ type: "forward-internal", config: { url } }] }];
}

function reportCatchAll({ node, service, status, path }: Rule, rules: readonly Rule[], ledger: Ledger): void {
  if (status !== undefined) {
    const used = rules.some((rule) => rule.hostname !== undefined && rule.path !== undefined);
    const text = used
      ? "the last rule of each cloud endpoint. For hostnames that nothing serves, the server has its own error page"
      : "not needed: the server has its own error page for hostnames that nothing serves";
    ledger.say(nodeAt(node, "service"), "mapped differently", text);
    return;
  }
  if (rules.some((rule) => rule.hostname !== undefined)) {
    const text = `${service} serves the listed hostnames only. For others, add a tunnel with their url`;
    ledger.say(nodeAt(node, "service"), "mapped differently", text);
    return;
  }
  const text = "the file has no hostname: run `postern http` with this service, or add a tunnel with a url";
  ledger.say(nodeAt(node, "service"), "left out", text);
  if (path !== undefined) ledger.say(nodeAt(node, "path"), "left out", text);
}
