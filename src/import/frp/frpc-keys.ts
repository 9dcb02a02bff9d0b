/** Every documented key of `frpc.toml` and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const keyRow = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const omittedRows = (text: string, ...keys: readonly string[]): KeyRow[] =>
  keys.map((key) => keyRow(key, "left out", text));
const prefixRows = (prefix: string, rows: readonly KeyRow[]): KeyRow[] =>
  rows.map((one) => ({ ...one, key: `${prefix}${one.key}` }));

const login = "the agent connects with its own token: run `postern login` once on this machine";
const line = "the agent manages its connection to the server automatically";
const visitor = "Postern has no visitors. Publish the service with a tcp tunnel and ip_restriction, or use a VPN";

const common: readonly KeyRow[] = [
  ...omittedRows(login, "serverAddr", "serverPort", "user", "clientID", "auth"),
  ...omittedRows(
    "`postern login --ca FILE` stores the CA of the server",
    "transport.tls.trustedCaFile",
    "transport.tls.serverName",
  ),
  ...omittedRows(
    "an agent proves itself with its token, not with a certificate",
    "transport.tls.certFile",
    "transport.tls.keyFile",
  ),
  keyRow("transport.tls.enable", "mapped", "the agent always uses TLS"),
  keyRow("transport.proxyURL", "mapped", "proxy_url of the agent"),
  keyRow("dnsServer", "mapped", "dns_resolver_ips of the agent"),
  keyRow("log.to", "mapped", "log of the agent"),
  keyRow("log.level", "mapped", "log_level of the agent"),
  keyRow("start", "mapped", "only these proxies become tunnels"),
  ...omittedRows("rotate the log with the tools of your system", "log.maxDays"),
  ...omittedRows("log_format: json has no colours", "log.disablePrintColor"),
  ...omittedRows("the agent tries again until it is connected. Set give_up_after for a limit", "loginFailExit"),
  ...omittedRows("the agent has a local inspector: see inspector in the agent file", "webServer"),
  ...omittedRows(
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
  ...omittedRows(
    "Postern carries no UDP and makes no direct connections. Use a VPN",
    "natHoleStunServer",
    "udpPacketSize",
    "virtualNet",
  ),
  ...omittedRows("set session_metadata for a text that the server shows with the agent", "metadatas"),
  ...omittedRows("the import reads only the files that you name: import each file", "includes"),
  ...omittedRows("this is an option of frp's own", "featureGates", "store"),
];

const proxies: readonly KeyRow[] = [
  keyRow("name", "mapped", "name of the tunnel"),
  keyRow("type", "mapped", "proto of the tunnel"),
  keyRow("enabled", "mapped", "a proxy that is not enabled does not become a tunnel"),
  keyRow("localIP", "mapped", "addr of the tunnel"),
  keyRow("localPort", "mapped", "addr of the tunnel"),
  keyRow("remotePort", "mapped", "the port of a TCP edge, which the tunnel serves by its labels"),
  keyRow("customDomains", "mapped", "url of a tunnel for each domain"),
  keyRow("subdomain", "mapped", "subdomain of the tunnel"),
  keyRow("locations", "mapped", "rules of a cloud endpoint's policy, the longest location first"),
  keyRow("httpUser", "mapped", "basic_auth of the tunnel"),
  keyRow("httpPassword", "mapped", "basic_auth of the tunnel"),
  keyRow("hostHeaderRewrite", "mapped", "host_header of the tunnel"),
  keyRow("requestHeaders.set.*", "mapped", "request_header.add of the tunnel"),
  keyRow("responseHeaders.set.*", "mapped", "response_header.add of the tunnel"),
  keyRow("transport.proxyProtocolVersion", "mapped", "proxy_proto of the tunnel"),
  keyRow("transport.useEncryption", "mapped", "the agent always uses TLS"),
  ...omittedRows("the agent does not compress its connection", "transport.useCompression"),
  ...omittedRows(
    "Postern does not limit the bandwidth of a tunnel",
    "transport.bandwidthLimit",
    "transport.bandwidthLimitMode",
  ),
  keyRow(
    "loadBalancer.group",
    "mapped",
    "tunnels with the same url share it (pooling_enabled), or have the same labels",
  ),
  keyRow(
    "loadBalancer.groupKey",
    "mapped differently",
    "not needed: the agents of a group must belong to the same account",
  ),
  ...omittedRows(
    "the server tries another agent if a request cannot reach a service. It does not check services in advance",
    "healthCheck",
  ),
  ...omittedRows(
    "set metadata or description of the tunnel for a text that the server shows",
    "metadatas",
    "annotations",
  ),
  {
    key: "routeByHTTPUser",
    kind: "left out",
    text: "Postern does not route by the user of basic auth. Give each service its own domain",
    guardsAccess: true,
  },
  ...omittedRows(visitor, "secretKey", "allowUsers"),
  ...omittedRows("Postern has no HTTP CONNECT multiplexer. Use a tls tunnel for each domain", "multiplexer"),
  ...omittedRows("Postern makes no direct connections", "natTraversal"),
  keyRow("plugin.type", "mapped", "the target of the tunnel"),
  keyRow("plugin.localAddr", "mapped", "addr of the tunnel"),
  keyRow("plugin.localPath", "mapped", "addr: file:// of the tunnel"),
  keyRow("plugin.unixPath", "mapped", "addr: unix: of the tunnel"),
  keyRow("plugin.crtPath", "mapped", "crt of the tunnel"),
  keyRow("plugin.keyPath", "mapped", "key of the tunnel"),
  keyRow("plugin.httpUser", "mapped", "basic_auth of the tunnel"),
  keyRow("plugin.httpPassword", "mapped", "basic_auth of the tunnel"),
  keyRow("plugin.hostHeaderRewrite", "mapped", "host_header of the tunnel"),
  keyRow("plugin.requestHeaders.set.*", "mapped", "request_header.add of the tunnel"),
  ...omittedRows("the path of a request stays as it is", "plugin.stripPrefix"),
  ...omittedRows("the service gets HTTP/1.1. Use addr h2c:// for HTTP/2", "plugin.enableHTTP2"),
  ...omittedRows("the agent is not a proxy server", "plugin.username", "plugin.password"),
];

const visitors: readonly KeyRow[] = [{ key: "visitors", kind: "left out", text: visitor }];

export const frpcKeys: readonly KeyRow[] = [...common, ...prefixRows("proxies[].", proxies), ...visitors];
