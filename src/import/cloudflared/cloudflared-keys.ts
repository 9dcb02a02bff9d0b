/** Every documented key of cloudflared's `config.yml` and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const keyRow = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const omittedRows = (text: string, ...keys: readonly string[]): KeyRow[] =>
  keys.map((key) => keyRow(key, "left out", text));

const join = "the agent connects with its own token: run `postern login` once on this machine";
const access =
  "the server does not check tokens of Cloudflare Access. Protect the hostname with a login (oauth, oidc, saml) or `jwt-validation`";
const proxy = "the agent does not publish a SOCKS proxy or a bastion. Publish each service separately";

/** Keys below `originRequest`, of the file or of one rule. */
function originRows(prefix: string): KeyRow[] {
  const at = (key: string): string => `${prefix}originRequest.${key}`;
  return [
    keyRow(at("httpHostHeader"), "mapped", "host_header of the tunnel"),
    keyRow(at("originServerName"), "mapped", "upstream_server_name of the tunnel"),
    keyRow(at("caPool"), "mapped", "upstream_tls_verify_cas of the tunnel"),
    keyRow(at("http2Origin"), "mapped", "upstream_protocol: http2 of the tunnel, if true"),
    keyRow(
      at("noTLSVerify"),
      "mapped differently",
      "the agent verifies every https:// service, except services on its own machine. For other services, set upstream_tls_verify_cas",
    ),
    ...omittedRows(
      "the agent asks the service for the hostname of its address. Set upstream_server_name for another name",
      at("matchSNItoHost"),
    ),
    ...omittedRows("the agent limits a connection attempt to 10 seconds", at("connectTimeout"), at("tlsTimeout")),
    ...omittedRows(
      "the agent manages its connections to the service automatically",
      at("keepAliveConnections"),
      at("keepAliveTimeout"),
      at("tcpKeepAlive"),
      at("noHappyEyeballs"),
    ),
    ...omittedRows(
      "requests reach the service as the visitor sent them, chunked or not. WSGI servers may need their own buffer",
      at("disableChunkedEncoding"),
    ),
    ...omittedRows(proxy, at("proxyAddress"), at("proxyPort"), at("proxyType"), at("bastionMode")),
    { key: at("ipRules"), kind: "left out", text: `${proxy}, with ip_restriction`, guardsAccess: true },
    { key: at("access"), kind: "left out", text: access, guardsAccess: true },
  ];
}

export const cloudflaredKeys: readonly KeyRow[] = [
  keyRow("ingress[].hostname", "mapped", "url of a tunnel, or a cloud endpoint if the hostname has rules with paths"),
  keyRow("ingress[].path", "mapped", "a rule of the cloud endpoint's policy, in the same order"),
  keyRow("ingress[].service", "mapped", "addr of a tunnel"),
  ...originRows("ingress[]."),
  ...originRows(""),
  keyRow("no-autoupdate", "mapped", "the agent never updates itself"),
  keyRow("loglevel", "mapped", "log_level of the agent"),
  keyRow("logfile", "mapped", "log of the agent"),
  keyRow(
    "no-tls-verify",
    "mapped differently",
    "as originRequest.noTLSVerify: the agent verifies every https:// service, except services on its own machine",
  ),
  ...omittedRows(join, "tunnel", "credentials-file", "credentials-contents", "token", "token-file", "origincert"),
  ...omittedRows("the server's network has no private routes. Use a VPN", "warp-routing", "warp-routing.enabled"),
  ...omittedRows("the agent does not update itself: use your package manager", "autoupdate-freq"),
  ...omittedRows(
    "the agent has its own status page: see `postern agent status` and the inspector",
    "metrics",
    "metrics-update-freq",
    "management-diagnostics",
  ),
  ...omittedRows("the agent tries again until it is connected. Set give_up_after for a limit", "retries"),
  ...omittedRows("the agent closes its streams when they are finished", "grace-period"),
  ...omittedRows(
    "the agent connects with TLS over TCP to the server that you name",
    "protocol",
    "region",
    "edge",
    "edge-ip-version",
    "edge-bind-address",
    "ha-connections",
    "post-quantum",
    "dns-resolver-addrs",
    "max-edge-addr-retries",
    "rpc-timeout",
    "write-stream-timeout",
    "compression-quality",
    "use-reconnect-token",
    "quic-disable-pmtu-discovery",
    "quic-connection-level-flow-control-limit",
    "quic-stream-level-flow-control-limit",
  ),
  ...omittedRows(
    "the agent has one log: set log_level, log_format or log",
    "transport-loglevel",
    "log-directory",
    "trace-output",
  ),
  ...omittedRows("the service manager knows the process: run `postern service install`", "pidfile", "stdin-control"),
  ...omittedRows("set session_metadata for a text that the server shows with the agent", "tag", "label", "name"),
  ...omittedRows(
    "the agent is not a DNS server",
    "proxy-dns",
    "proxy-dns-port",
    "proxy-dns-address",
    "proxy-dns-upstream",
    "proxy-dns-max-upstream-conns",
    "proxy-dns-bootstrap",
  ),
  ...omittedRows("the agent does not answer pings", "icmpv4-src", "icmpv6-src"),
  ...omittedRows(
    "write the service as a rule of ingress, and import again",
    "url",
    "hostname",
    "unix-socket",
    "hello-world",
    "http-host-header",
    "origin-server-name",
    "origin-ca-pool",
  ),
  ...omittedRows(proxy, "bastion", "socks5", "proxy-address", "proxy-port"),
];
