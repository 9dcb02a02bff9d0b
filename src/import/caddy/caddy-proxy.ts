/** Converts the handler `reverse_proxy` to the backend of a route. */
import { entriesAt, itemsAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { headerActions } from "./headers.ts";
import type { RouteScope, ImportedSite } from "./imported-site.ts";

/** Results for fields of the handler that need no other handling. */
const fields: Readonly<Record<string, readonly ["mapped" | "mapped differently" | "left out", string]>> = {
  flush_interval: ["mapped", "the server passes on every part of a response immediately"],
  buffer_requests: ["left out", "the server passes on bodies as they come"],
  buffer_responses: ["left out", "the server passes on bodies as they come"],
  max_buffer_size: ["left out", "the server passes on bodies as they come"],
  health_checks: [
    "left out",
    "the server tries another backend when a connection fails. It does not check backends in advance",
  ],
  circuit_breaker: ["left out", "use the circuit_breaker of the route"],
  trusted_proxies: ["left out", "set --trusted-forwarders of the server"],
};

export function readProxy(site: ImportedSite, handler: SourceNode, scope: RouteScope): void {
  const { ledger, steps, proxies } = site;
  ledger.say(handler, "mapped", "backend of a route");
  for (const [key, [kind, text]] of Object.entries(fields)) ledger.say(nodeAt(handler, key), kind, text);
  const upstreams = itemsAt(handler, "upstreams");
  const addresses = upstreams.flatMap((upstream) => addressOf(textAt(upstream, "dial") ?? "") ?? []);
  const why = explainNot(handler, upstreams.length, addresses.length);
  if (why !== undefined) {
    ledger.say(
      handler,
      "left out",
      `${why}. Requests that reach it get 502`,
      nodeAt(handler, "handle_response") !== undefined,
    );
    steps.push({
      kind: "act",
      route: scope.route,
      actions: [{ type: "custom-response", config: { status_code: 502 } }],
      ends: true,
    });
    return;
  }
  reportTransport(site, handler);
  const policy = textAt(handler, "load_balancing.selection_policy.policy");
  const balancing = nodeAt(handler, "load_balancing");
  if (policy === "first") ledger.say(balancing, "mapped", "failover backend");
  else ledger.say(balancing, "mapped differently", "weighted backend: each upstream gets an equal share at random");
  ledger.say(
    nodeAt(handler, "load_balancing.try_duration"),
    "left out",
    "the server tries another backend when a connection fails",
  );
  ledger.say(
    nodeAt(handler, "load_balancing.try_interval"),
    "left out",
    "the server tries another backend when a connection fails",
  );
  const own = addresses.length === 1 ? { "http.reverse_proxy.upstream.hostport": addresses[0] as string } : {};
  const request = headerActions(site, nodeAt(handler, "headers.request"), own);
  if (request.length > 0) steps.push({ kind: "act", route: scope.route, actions: request });
  const response = headerActions(site, nodeAt(handler, "headers.response"), own);
  const proxy = proxies.length;
  if (response.length > 0) steps.push({ kind: "respond", condition: scope.condition, actions: response, proxy });
  const isTls = nodeAt(handler, "transport.tls") !== undefined;
  proxies.push({
    node: handler,
    addresses,
    isTls,
    isFirst: policy === "first",
    paths: scope.condition.paths,
    hosts: scope.condition.hosts,
  });
  steps.push({ kind: "proxy", route: scope.route, proxy });
}

function explainNot(handler: SourceNode, count: number, usable: number): string | undefined {
  if (nodeAt(handler, "handle_response") !== undefined) {
    return "handle_response decides by the answer of another service, as forward_auth does. Use a login (oauth, oidc, saml) or http-request";
  }
  if (nodeAt(handler, "dynamic_upstreams") !== undefined)
    return "dynamic upstreams have no equivalent. Use agents with labels";
  if (nodeAt(handler, "rewrite") !== undefined)
    return "a rewrite inside of reverse_proxy has no equivalent. Write it before reverse_proxy";
  if (count === 0 || usable < count)
    return "an upstream is not a TCP address with a port. Publish sockets with an agent";
  const protocol = textAt(handler, "transport.protocol");
  if (protocol !== undefined && protocol !== "http")
    return `the transport "${protocol}" has no equivalent. Publish the service over HTTP`;
  return undefined;
}

function addressOf(dial: string): string | undefined {
  const address = dial.replace(/^tcp\//, "");
  if (!/^[^/{}\s]+:\d{1,5}$/.test(address)) return undefined;
  return address.startsWith(":") ? `localhost${address}` : address;
}

function reportTransport({ ledger }: ImportedSite, handler: SourceNode): void {
  for (const { key, node } of entriesAt(handler, "transport")) {
    if (key === "protocol") ledger.say(node, "mapped", "HTTP");
    else if (key === "tls") ledger.say(node, "mapped", "tls of the static backend, which verifies the certificate");
    else if (key === "versions")
      ledger.say(node, "left out", "the server speaks HTTP/1.1 to a static backend. Use an agent for HTTP/2");
    else ledger.say(node, "left out", "the server manages its connections to backends automatically");
  }
  const verified =
    "the server always verifies the certificate with the public authorities. Use an agent for other ones";
  for (const { key, node } of entriesAt(handler, "transport.tls"))
    ledger.say(
      node,
      "left out",
      key === "server_name" ? "the certificate must have the name of the address" : verified,
    );
}
