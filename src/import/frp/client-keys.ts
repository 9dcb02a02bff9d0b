/** Every documented key of `frpc.toml` and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const row = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const leftOut = (text: string, ...keys: readonly string[]): KeyRow[] => keys.map((key) => row(key, "left out", text));
const below = (prefix: string, rows: readonly KeyRow[]): KeyRow[] =>
  rows.map((one) => ({ ...one, key: `${prefix}${one.key}` }));

const login = "the agent connects with its own token: run `postern login` once on this machine";
const line = "the agent manages its connection to the server automatically";
const visitor = "Postern has no visitors. Publish the service with a tcp tunnel and ip_restriction, or use a VPN";

const common: readonly KeyRow[] = [
  ...leftOut(login, "serverAddr", "serverPort", "user", "clientID", "auth"),
  ...leftOut(
    "`postern login --ca FILE` stores the CA of the server",
    "transport.tls.trustedCaFile",
    "transport.tls.serverName",
  ),
  ...leftOut(
    "an agent proves itself with its token, not with a certificate",
    "transport.tls.certFile",
    "transport.tls.keyFile",
  ),
  row("transport.tls.enable", "mapped", "the agent always uses TLS"),
  row("transport.proxyURL", "mapped", "proxy_url of the agent"),
  row("dnsServer", "mapped", "dns_resolver_ips of the agent"),
  row("log.to", "mapped", "log of the agent"),
  row("log.level", "mapped", "log_level of the agent"),
  row("start", "mapped", "only these proxies become tunnels"),
  ...leftOut("rotate the log with the tools of your system", "log.maxDays"),
  ...leftOut("log_format: json has no colours", "log.disablePrintColor"),
  ...leftOut("the agent tries again until it is connected. Set give_up_after for a limit", "loginFailExit"),
  ...leftOut("the agent has a local inspector: see inspector in the agent file", "webServer"),
  ...leftOut(
    line,
    "transport.protocol",
    "transport.wireProtocol",
    "transport.dialServerTimeout",
    "transport.dialServerKeepalive",
    "transport.connectServerLocalIP",
    "transport.poolCount",
    "transport.tcpMux",
    "transport.tcpMuxKeepaliveInterval",
    "transport.quic",
    "transport.heartbeatInterval",
    "transport.heartbeatTimeout",
    "transport.tls.disableCustomTLSFirstByte",
  ),
  ...leftOut(
    "Postern carries no UDP and makes no direct connections. Use a VPN",
    "natHoleStunServer",
    "udpPacketSize",
    "virtualNet",
  ),
  ...leftOut("set session_metadata for a text that the server shows with the agent", "metadatas"),
  ...leftOut("the import reads only the files that you name: import each file", "includes"),
  ...leftOut("this is an option of frp's own", "featureGates", "store"),
];

const proxies: readonly KeyRow[] = [
  row("name", "mapped", "name of the tunnel"),
  row("type", "mapped", "proto of the tunnel"),
  row("enabled", "mapped", "a proxy that is not enabled does not become a tunnel"),
  row("localIP", "mapped", "addr of the tunnel"),
  row("localPort", "mapped", "addr of the tunnel"),
  row("remotePort", "mapped", "the port of a TCP edge, which the tunnel serves by its labels"),
  row("customDomains", "mapped", "url of a tunnel for each domain"),
  row("subdomain", "mapped", "subdomain of the tunnel"),
  row("locations", "mapped", "rules of a cloud endpoint's policy, the longest location first"),
  row("httpUser", "mapped", "basic_auth of the tunnel"),
  row("httpPassword", "mapped", "basic_auth of the tunnel"),
  row("hostHeaderRewrite", "mapped", "host_header of the tunnel"),
  row("requestHeaders.set.*", "mapped", "request_header.add of the tunnel"),
  row("responseHeaders.set.*", "mapped", "response_header.add of the tunnel"),
  row("transport.proxyProtocolVersion", "mapped", "proxy_proto of the tunnel"),
  row("transport.useEncryption", "mapped", "the agent always uses TLS"),
  ...leftOut("the agent does not compress its connection", "transport.useCompression"),
  ...leftOut(
    "Postern does not limit the bandwidth of a tunnel",
    "transport.bandwidthLimit",
    "transport.bandwidthLimitMode",
  ),
  row("loadBalancer.group", "mapped", "tunnels with the same url share it (pooling_enabled), or have the same labels"),
  row(
    "loadBalancer.groupKey",
    "mapped differently",
    "not needed: the agents of a group must belong to the same account",
  ),
  ...leftOut(
    "the server tries another agent if a request cannot reach a service. It does not check services in advance",
    "healthCheck",
  ),
  ...leftOut("set metadata or description of the tunnel for a text that the server shows", "metadatas", "annotations"),
  {
    key: "routeByHTTPUser",
    kind: "left out",
    text: "Postern does not route by the user of basic auth. Give each service its own domain",
    guardsAccess: true,
  },
  ...leftOut(visitor, "secretKey", "allowUsers"),
  ...leftOut("Postern has no HTTP CONNECT multiplexer. Use a tls tunnel for each domain", "multiplexer"),
  ...leftOut("Postern makes no direct connections", "natTraversal"),
  row("plugin.type", "mapped", "the target of the tunnel"),
  row("plugin.localAddr", "mapped", "addr of the tunnel"),
  row("plugin.localPath", "mapped", "addr: file:// of the tunnel"),
  row("plugin.unixPath", "mapped", "addr: unix: of the tunnel"),
  row("plugin.crtPath", "mapped", "crt of the tunnel"),
  row("plugin.keyPath", "mapped", "key of the tunnel"),
  row("plugin.httpUser", "mapped", "basic_auth of the tunnel"),
  row("plugin.httpPassword", "mapped", "basic_auth of the tunnel"),
  row("plugin.hostHeaderRewrite", "mapped", "host_header of the tunnel"),
  row("plugin.requestHeaders.set.*", "mapped", "request_header.add of the tunnel"),
  ...leftOut("the path of a request stays as it is", "plugin.stripPrefix"),
  ...leftOut("the service gets HTTP/1.1. Use addr h2c:// for HTTP/2", "plugin.enableHTTP2"),
  ...leftOut("the agent is not a proxy server", "plugin.username", "plugin.password"),
];

const visitors: readonly KeyRow[] = [{ key: "visitors", kind: "left out", text: visitor }];

export const frpcKeys: readonly KeyRow[] = [...common, ...below("proxies[].", proxies), ...visitors];
