/** Every documented key of cloudflared's `config.yml` and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const row = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const leftOut = (text: string, ...keys: readonly string[]): KeyRow[] => keys.map((key) => row(key, "left out", text));

const join = "the agent connects with its own token: run `postern login` once on this machine";
const access =
  "the server does not check tokens of Cloudflare Access. Protect the hostname with a login (oauth, oidc, saml) or `jwt-validation`";
const proxy = "the agent does not publish a SOCKS proxy or a bastion. Publish each service separately";

/** Keys below `originRequest`, of the file or of one rule. */
function originRows(prefix: string): KeyRow[] {
  const at = (key: string): string => `${prefix}originRequest.${key}`;
  return [
    row(at("httpHostHeader"), "mapped", "host_header of the tunnel"),
    row(at("originServerName"), "mapped", "upstream_server_name of the tunnel"),
    row(at("caPool"), "mapped", "upstream_tls_verify_cas of the tunnel"),
    row(at("http2Origin"), "mapped", "upstream_protocol: http2 of the tunnel, if true"),
    row(
      at("noTLSVerify"),
      "mapped differently",
      "the agent verifies every https:// service, except services on its own machine. For other services, set upstream_tls_verify_cas",
    ),
    ...leftOut(
      "the agent asks the service for the hostname of its address. Set upstream_server_name for another name",
      at("matchSNItoHost"),
    ),
    ...leftOut("the agent limits a connection attempt to 10 seconds", at("connectTimeout"), at("tlsTimeout")),
    ...leftOut(
      "the agent manages its connections to the service automatically",
      at("keepAliveConnections"),
      at("keepAliveTimeout"),
      at("tcpKeepAlive"),
      at("noHappyEyeballs"),
    ),
    ...leftOut(
      "requests reach the service as the visitor sent them, chunked or not. WSGI servers may need their own buffer",
      at("disableChunkedEncoding"),
    ),
    ...leftOut(proxy, at("proxyAddress"), at("proxyPort"), at("proxyType"), at("bastionMode")),
    { key: at("ipRules"), kind: "left out", text: `${proxy}, with ip_restriction`, guardsAccess: true },
    { key: at("access"), kind: "left out", text: access, guardsAccess: true },
  ];
}

export const cloudflaredKeys: readonly KeyRow[] = [
  row("ingress[].hostname", "mapped", "url of a tunnel, or a cloud endpoint if the hostname has rules with paths"),
  row("ingress[].path", "mapped", "a rule of the cloud endpoint's policy, in the same order"),
  row("ingress[].service", "mapped", "addr of a tunnel"),
  ...originRows("ingress[]."),
  ...originRows(""),
  row("no-autoupdate", "mapped", "the agent never updates itself"),
  row("loglevel", "mapped", "log_level of the agent"),
  row("logfile", "mapped", "log of the agent"),
  row(
    "no-tls-verify",
    "mapped differently",
    "as originRequest.noTLSVerify: the agent verifies every https:// service, except services on its own machine",
  ),
  ...leftOut(join, "tunnel", "credentials-file", "credentials-contents", "token", "token-file", "origincert"),
  ...leftOut("the server's network has no private routes. Use a VPN", "warp-routing", "warp-routing.enabled"),
  ...leftOut("the agent does not update itself: use your package manager", "autoupdate-freq"),
  ...leftOut(
    "the agent has its own status page: see `postern agent status` and the inspector",
    "metrics",
    "metrics-update-freq",
    "management-diagnostics",
  ),
  ...leftOut("the agent tries again until it is connected. Set give_up_after for a limit", "retries"),
  ...leftOut("the agent closes its streams when they are finished", "grace-period"),
  ...leftOut(
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
  ...leftOut(
    "the agent has one log: set log_level, log_format or log",
    "transport-loglevel",
    "log-directory",
    "trace-output",
  ),
  ...leftOut("the service manager knows the process: run `postern service install`", "pidfile", "stdin-control"),
  ...leftOut("set session_metadata for a text that the server shows with the agent", "tag", "label", "name"),
  ...leftOut(
    "the agent is not a DNS server",
    "proxy-dns",
    "proxy-dns-port",
    "proxy-dns-address",
    "proxy-dns-upstream",
    "proxy-dns-max-upstream-conns",
    "proxy-dns-bootstrap",
  ),
  ...leftOut("the agent does not answer pings", "icmpv4-src", "icmpv6-src"),
  ...leftOut(
    "write the service as a rule of ingress, and import again",
    "url",
    "hostname",
    "unix-socket",
    "hello-world",
    "http-host-header",
    "origin-server-name",
    "origin-ca-pool",
  ),
  ...leftOut(proxy, "bastion", "socks5", "proxy-address", "proxy-port"),
];
