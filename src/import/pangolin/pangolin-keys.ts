/** Every documented key of Pangolin's blueprints and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const keyRow = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const guardRow = (key: string, text: string): KeyRow => ({ key, kind: "left out", text, guardsAccess: true });
const health =
  "the server tries another agent if a request cannot reach a service. It does not check services in advance";
const login =
  "the server does not have Pangolin's accounts, so requests get 403. Protect the route with a login (oauth, oidc, saml), then remove the rule";

const resource: readonly KeyRow[] = [
  keyRow("name", "mapped", "description of the edge"),
  keyRow("protocol", "mapped", "an HTTPS edge for http, a tcp tunnel for tcp"),
  keyRow("mode", "mapped", "an HTTPS edge for http, a tcp tunnel for tcp"),
  keyRow("full-domain", "mapped", "hostports of the edge"),
  keyRow("ssl", "mapped differently", "visitors always use HTTPS, and plain HTTP is redirected"),
  keyRow("enabled", "mapped", "a resource that is not enabled is left out"),
  keyRow("host-header", "mapped", "request_headers of the routes"),
  keyRow("tls-server-name", "mapped", "upstream_server_name of the tunnels"),
  keyRow("headers[].name", "mapped", "request_headers of the routes"),
  keyRow("headers[].value", "mapped", "request_headers of the routes"),
  keyRow("proxy-port", "mapped differently", "the server chooses the port. For this one, create a TCP edge"),
  keyRow("rules[].action", "mapped", "a rule of the traffic policy, in the same order"),
  keyRow("rules[].match", "mapped", "a rule of the traffic policy, in the same order"),
  keyRow("rules[].value", "mapped", "a rule of the traffic policy, in the same order"),
  keyRow("rules[].priority", "mapped differently", "rules have the order of the file"),
  keyRow("auth.basic-auth", "mapped", "basic-auth of the traffic policy"),
  guardRow("auth.pincode", login),
  guardRow("auth.password", login),
  guardRow("auth.sso-enabled", login),
  guardRow("auth.sso-roles", login),
  guardRow("auth.sso-users", login),
  guardRow("auth.whitelist-users", login),
  guardRow("auth.auto-login-idp", login),
  keyRow("maintenance", "left out", "for maintenance, set an http_response backend for the route"),
  keyRow("targets[].site", "mapped", "the agent file of this site"),
  keyRow("targets[].hostname", "mapped", "addr of the tunnel"),
  keyRow("targets[].method", "mapped", "addr of the tunnel"),
  keyRow("targets[].port", "mapped", "addr of the tunnel"),
  keyRow("targets[].internal-port", "left out", "Pangolin chooses this port for its own use"),
  keyRow("targets[].enabled", "mapped", "a target that is not enabled is left out"),
  keyRow("targets[].path", "mapped", "match of the route"),
  keyRow("targets[].path-match", "mapped", "match_type of the route"),
  keyRow("targets[].rewrite-path", "mapped", "url-rewrite of the traffic policy"),
  keyRow("targets[].rewrite-match", "mapped", "url-rewrite of the traffic policy"),
  keyRow("targets[].priority", "mapped differently", "exact paths come first, then the longest prefix"),
  keyRow("targets[].healthcheck", "left out", health),
];

const noClients =
  "Postern has no client for private networks. Publish the service with a tcp tunnel and ip_restriction, or use a VPN";

export const pangolinKeys: readonly KeyRow[] = [
  ...["proxy-resources.*.", "public-resources.*."].flatMap((prefix) =>
    resource.map((one) => ({ ...one, key: prefix + one.key })),
  ),
  keyRow("client-resources", "left out", noClients),
  keyRow("private-resources", "left out", noClients),
  keyRow("sites.*.name", "mapped", "the name of an agent file"),
  keyRow(
    "sites.*.docker-socket-enabled",
    "left out",
    "the agent does not read labels of containers. List each service in the agent file",
  ),
];
