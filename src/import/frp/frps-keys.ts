/** Every documented key of `frps.toml` and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const keyRow = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const omittedRows = (text: string, ...keys: readonly string[]): KeyRow[] =>
  keys.map((key) => keyRow(key, "left out", text));

const line = "the server manages the connections of agents automatically";

export const frpsKeys: readonly KeyRow[] = [
  keyRow("bindAddr", "mapped", "the host of agent_listen"),
  keyRow("bindPort", "mapped", "the port of agent_listen"),
  keyRow("vhostHTTPPort", "mapped", "http_listen: plain HTTP is redirected to HTTPS"),
  keyRow("vhostHTTPSPort", "mapped", "https_listen"),
  keyRow("proxyBindAddr", "mapped", "the host of http_listen and https_listen, and tcp_bind"),
  keyRow("subDomainHost", "mapped", "domain"),
  keyRow("allowPorts", "mapped", "tcp_ports"),
  keyRow("log.level", "mapped", "log_level"),
  keyRow("transport.tls.force", "mapped", "the server accepts agents with TLS only"),
  keyRow("auth.method", "mapped differently", "each agent has its own token: postern api POST /credentials '{}'"),
  ...omittedRows("each agent has its own token: postern api POST /credentials '{}'", "auth"),
  ...omittedRows(
    "the log goes to standard output, and the service manager stores it",
    "log.to",
    "log.maxDays",
    "log.disablePrintColor",
  ),
  keyRow("enablePrometheus", "mapped differently", "GET /metrics at the API is always on, for the same machine"),
  ...omittedRows("the console is at the address of the API. Log in with `postern console`", "webServer"),
  ...omittedRows(
    "the server has its own certificates for agents: see `postern ca`",
    "transport.tls.certFile",
    "transport.tls.keyFile",
    "transport.tls.trustedCaFile",
  ),
  ...omittedRows("agents connect with TLS over TCP", "kcpBindPort", "quicBindPort", "transport.quic", "udpPacketSize"),
  ...omittedRows(
    line,
    "transport.maxPoolCount",
    "transport.tcpMux",
    "transport.tcpMuxKeepaliveInterval",
    "transport.tcpKeepalive",
    "transport.heartbeatTimeout",
    "userConnTimeout",
  ),
  ...omittedRows("set upstream_timeout of each tunnel", "vhostHTTPTimeout"),
  ...omittedRows("the server has its own error pages", "custom404Page"),
  ...omittedRows(
    "Postern has no HTTP CONNECT multiplexer. Use tls tunnels",
    "tcpmuxHTTPConnectPort",
    "tcpmuxPassthrough",
  ),
  ...omittedRows("set --ssh-listen, and add the public keys with `POST /ssh_credentials`", "sshTunnelGateway"),
  ...omittedRows("limits are for accounts: see the settings of `postern serve`", "maxPortsPerClient"),
  ...omittedRows("Postern makes no direct connections", "natholeAnalysisDataReserveHours"),
  ...omittedRows("agents always get the reason of an error", "detailedErrorsToClient"),
  ...omittedRows("this is an option of frp's own", "featureGates"),
  {
    key: "httpPlugins",
    kind: "left out",
    text: "the server does not ask a plugin. Limit agents with the ACL of their tokens, and visitors with policies",
    guardsAccess: true,
  },
];
