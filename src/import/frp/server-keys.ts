/** Every documented key of `frps.toml` and its result. */
import type { KeyRow } from "../ledger/ledger.ts";
import type { LineKind } from "../report/report.ts";

const row = (key: string, kind: LineKind, text: string): KeyRow => ({ key, kind, text });
const leftOut = (text: string, ...keys: readonly string[]): KeyRow[] => keys.map((key) => row(key, "left out", text));

const line = "the server manages the connections of agents automatically";

export const frpsKeys: readonly KeyRow[] = [
  row("bindAddr", "mapped", "the host of agent_listen"),
  row("bindPort", "mapped", "the port of agent_listen"),
  row("vhostHTTPPort", "mapped", "http_listen: plain HTTP is redirected to HTTPS"),
  row("vhostHTTPSPort", "mapped", "https_listen"),
  row("proxyBindAddr", "mapped", "the host of http_listen and https_listen, and tcp_bind"),
  row("subDomainHost", "mapped", "domain"),
  row("allowPorts", "mapped", "tcp_ports"),
  row("log.level", "mapped", "log_level"),
  row("transport.tls.force", "mapped", "the server accepts agents with TLS only"),
  row("auth.method", "mapped differently", "each agent has its own token: postern api POST /credentials '{}'"),
  ...leftOut("each agent has its own token: postern api POST /credentials '{}'", "auth"),
  ...leftOut(
    "the log goes to standard output, and the service manager stores it",
    "log.to",
    "log.maxDays",
    "log.disablePrintColor",
  ),
  row("enablePrometheus", "mapped differently", "GET /metrics at the API is always on, for the same machine"),
  ...leftOut("the console is at the address of the API. Log in with `postern console`", "webServer"),
  ...leftOut(
    "the server has its own certificates for agents: see `postern ca`",
    "transport.tls.certFile",
    "transport.tls.keyFile",
    "transport.tls.trustedCaFile",
  ),
  ...leftOut("agents connect with TLS over TCP", "kcpBindPort", "quicBindPort", "transport.quic", "udpPacketSize"),
  ...leftOut(
    line,
    "transport.maxPoolCount",
    "transport.tcpMux",
    "transport.tcpMuxKeepaliveInterval",
    "transport.tcpKeepalive",
    "transport.heartbeatTimeout",
    "userConnTimeout",
  ),
  ...leftOut("set upstream_timeout of each tunnel", "vhostHTTPTimeout"),
  ...leftOut("the server has its own error pages", "custom404Page"),
  ...leftOut("Postern has no HTTP CONNECT multiplexer. Use tls tunnels", "tcpmuxHTTPConnectPort", "tcpmuxPassthrough"),
  ...leftOut("set --ssh-listen, and add the public keys with `POST /ssh_credentials`", "sshTunnelGateway"),
  ...leftOut("limits are for accounts: see the settings of `postern serve`", "maxPortsPerClient"),
  ...leftOut("Postern makes no direct connections", "natholeAnalysisDataReserveHours"),
  ...leftOut("agents always get the reason of an error", "detailedErrorsToClient"),
  ...leftOut("this is an option of frp's own", "featureGates"),
  {
    key: "httpPlugins",
    kind: "left out",
    text: "the server does not ask a plugin. Limit agents with the ACL of their tokens, and visitors with policies",
    guardsAccess: true,
  },
];
