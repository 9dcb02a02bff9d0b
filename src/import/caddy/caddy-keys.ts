/** Documented settings of Caddy outside of routes, and its handlers and matchers for the guide. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const keyRow = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const guardRow = (key: string, text: string): KeyRow => ({ key, kind: "left out", text, guardsAccess: true });
const server = "apps.http.servers.*.";

export const caddyKeys: readonly KeyRow[] = [
  keyRow("admin", "left out", "the management API of Postern has its own address: see --api-listen"),
  keyRow("logging", "left out", "set --log-level and --log-format of the server"),
  keyRow("storage", "left out", "certificates are in the server's database"),
  keyRow(
    "apps.tls.automation",
    "mapped differently",
    "the server requests certificates automatically: see the guide to certificates",
  ),
  keyRow(
    "apps.tls.certificates",
    "left out",
    "upload the certificate: postern api POST /tls_certificates @certificate.json",
  ),
  keyRow("apps.tls.session_tickets", "left out", "the server has its own session tickets"),
  keyRow("apps.pki", "left out", "the server has its own authority: see `postern ca`"),
  keyRow("apps.http.http_port", "left out", "set --http-listen of the server"),
  keyRow("apps.http.https_port", "left out", "set --https-listen of the server"),
  keyRow("apps.http.grace_period", "left out", "set --drain-delay of the server"),
  keyRow("apps.http.shutdown_delay", "left out", "set --drain-delay of the server"),
  keyRow(
    `${server}listen`,
    "mapped differently",
    "the edge answers at the server's HTTPS address, and plain HTTP is redirected",
  ),
  keyRow(
    `${server}automatic_https`,
    "mapped differently",
    "the server requests certificates automatically: see the guide to certificates",
  ),
  keyRow(`${server}logs`, "left out", "the server has one access log for all sites"),
  keyRow(`${server}protocols`, "left out", "the server speaks HTTP/1.1 and HTTP/2"),
  keyRow(`${server}strict_sni_host`, "mapped", "the server always compares the host with the server name"),
  keyRow(`${server}read_timeout`, "left out", "the server has its own limits: see the guide to limits"),
  keyRow(`${server}read_header_timeout`, "left out", "the server has its own limits: see the guide to limits"),
  keyRow(`${server}write_timeout`, "left out", "the server has its own limits: see the guide to limits"),
  keyRow(`${server}idle_timeout`, "left out", "the server has its own limits: see the guide to limits"),
  keyRow(`${server}max_header_bytes`, "left out", "the server has its own limits: see the guide to limits"),
  keyRow(`${server}experimental_http3`, "left out", "the server speaks HTTP/1.1 and HTTP/2"),
  keyRow(`${server}allow_h2c`, "left out", "the server speaks HTTP/2 over TLS"),
  keyRow(`${server}metrics`, "left out", "GET /metrics at the API is always on, for the same machine"),
  keyRow(`${server}trusted_proxies`, "left out", "set --trusted-forwarders of the server"),
  keyRow(
    `${server}errors`,
    "left out",
    "the server has its own error pages. Write a rule of on_http_response for others",
  ),
  keyRow(`${server}tls_connection_policies[].match`, "mapped", "each site has its own TLS settings"),
  keyRow(`${server}tls_connection_policies[].protocol_min`, "mapped", "tls_termination of the edge"),
  keyRow(`${server}tls_connection_policies[].protocol_max`, "left out", "the server allows TLS 1.3"),
  keyRow(`${server}tls_connection_policies[].alpn`, "left out", "the server offers HTTP/2 and HTTP/1.1"),
  keyRow(
    `${server}tls_connection_policies[].cipher_suites`,
    "left out",
    "the server chooses among modern cipher suites",
  ),
  keyRow(`${server}tls_connection_policies[].curves`, "left out", "the server chooses among modern curves"),
  keyRow(
    `${server}tls_connection_policies[].certificate_selection`,
    "left out",
    "the certificate of the domain is used: see the guide to certificates",
  ),
  guardRow(
    `${server}tls_connection_policies[].client_authentication`,
    "upload the CA (postern api POST /certificate_authorities), and set mutual_tls of the edge",
  ),
];

/** Handlers and matchers with their results, for the guide. The code is in `handlers.ts` and `conditions.ts`. */
export const caddyRows: readonly KeyRow[] = [
  keyRow("match: host", "mapped", "hostports of an HTTPS edge"),
  keyRow(
    "match: path, path_regexp, method, header, query, not, protocol",
    "mapped",
    "condition of a rule. Caddy's path ignores case, and so does the rule",
  ),
  keyRow("match: remote_ip", "mapped", "condition of a rule with inCidrRanges"),
  guardRow("match: others, such as expression, file, client_ip, vars", "the route is left out"),
  keyRow("handler: subroute", "mapped", "rules of the traffic policy"),
  keyRow(
    "handler: reverse_proxy",
    "mapped",
    "static backends of routes by path; several upstreams are a weighted or failover backend",
  ),
  guardRow(
    "handler: reverse_proxy with handle_response (forward_auth)",
    "requests get 502: use a login (oauth, oidc, saml) or http-request",
  ),
  keyRow(
    "handler: authentication with http_basic",
    "mapped differently",
    "basic-auth; the passwords are placeholders to fill in, because Caddy has only their hashes",
  ),
  guardRow(
    "handler: authentication with other providers",
    "requests get 403: use a login (oauth, oidc, saml) or jwt-validation",
  ),
  keyRow("handler: headers", "mapped", "add-headers and remove-headers"),
  keyRow("handler: static_response", "mapped", "custom-response, or close-connection for abort"),
  keyRow("handler: rewrite", "mapped", "url-rewrite for uri, strip_path_prefix and strip_path_suffix"),
  keyRow("handler: encode", "mapped differently", "compression of every route of the site"),
  keyRow("handler: error", "mapped differently", "custom-response"),
  keyRow("handler: file_server, templates", "left out", "requests get 502: publish the files with an agent (file://)"),
  keyRow("handler: vars, request_body, log_append, tracing", "left out", "see the report for each"),
  guardRow("handler: others", "requests get 502"),
];
