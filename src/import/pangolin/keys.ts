/** Every documented key of Pangolin's blueprints and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const row = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const guard = (key: string, text: string): KeyRow => ({ key, kind: "left out", text, guardsAccess: true });
const health =
  "the server tries another agent if a request cannot reach a service. It does not check services in advance";
const login =
  "the server does not have Pangolin's accounts, so requests get 403. Protect the route with a login (oauth, oidc, saml), then remove the rule";

const resource: readonly KeyRow[] = [
  row("name", "mapped", "description of the edge"),
  row("protocol", "mapped", "an HTTPS edge for http, a tcp tunnel for tcp"),
  row("mode", "mapped", "an HTTPS edge for http, a tcp tunnel for tcp"),
  row("full-domain", "mapped", "hostports of the edge"),
  row("ssl", "mapped differently", "visitors always use HTTPS, and plain HTTP is redirected"),
  row("enabled", "mapped", "a resource that is not enabled is left out"),
  row("host-header", "mapped", "request_headers of the routes"),
  row("tls-server-name", "mapped", "upstream_server_name of the tunnels"),
  row("headers[].name", "mapped", "request_headers of the routes"),
  row("headers[].value", "mapped", "request_headers of the routes"),
  row("proxy-port", "mapped differently", "the server chooses the port. For this one, create a TCP edge"),
  row("rules[].action", "mapped", "a rule of the traffic policy, in the same order"),
  row("rules[].match", "mapped", "a rule of the traffic policy, in the same order"),
  row("rules[].value", "mapped", "a rule of the traffic policy, in the same order"),
  row("rules[].priority", "mapped differently", "rules have the order of the file"),
  row("auth.basic-auth", "mapped", "basic-auth of the traffic policy"),
  guard("auth.pincode", login),
  guard("auth.password", login),
  guard("auth.sso-enabled", login),
  guard("auth.sso-roles", login),
  guard("auth.sso-users", login),
  guard("auth.whitelist-users", login),
  guard("auth.auto-login-idp", login),
  row("maintenance", "left out", "for maintenance, set an http_response backend for the route"),
  row("targets[].site", "mapped", "the agent file of this site"),
  row("targets[].hostname", "mapped", "addr of the tunnel"),
  row("targets[].method", "mapped", "addr of the tunnel"),
  row("targets[].port", "mapped", "addr of the tunnel"),
  row("targets[].internal-port", "left out", "Pangolin chooses this port for its own use"),
  row("targets[].enabled", "mapped", "a target that is not enabled is left out"),
  row("targets[].path", "mapped", "match of the route"),
  row("targets[].path-match", "mapped", "match_type of the route"),
  row("targets[].rewrite-path", "mapped", "url-rewrite of the traffic policy"),
  row("targets[].rewrite-match", "mapped", "url-rewrite of the traffic policy"),
  row("targets[].priority", "mapped differently", "exact paths come first, then the longest prefix"),
  row("targets[].healthcheck", "left out", health),
];

const noClients =
  "Postern has no client for private networks. Publish the service with a tcp tunnel and ip_restriction, or use a VPN";

export const pangolinKeys: readonly KeyRow[] = [
  ...["proxy-resources.*.", "public-resources.*."].flatMap((prefix) =>
    resource.map((one) => ({ ...one, key: prefix + one.key })),
  ),
  row("client-resources", "left out", noClients),
  row("private-resources", "left out", noClients),
  row("sites.*.name", "mapped", "the name of an agent file"),
  row(
    "sites.*.docker-socket-enabled",
    "left out",
    "the agent does not read labels of containers. List each service in the agent file",
  ),
];
