/** Read by the edge. */
import { accessLogSettings } from "./access-log.ts";
import { captureSettings } from "./capture.ts";
import { bothPlanesSettings } from "./both-planes.ts";
import { ipAddress, network } from "./kinds/address.ts";
import { patience } from "./kinds/agents.ts";
import { countKind } from "./kinds/number.ts";
import { policySettings } from "./policies.ts";
import { placeSettings } from "./places.ts";
import { loginSettings } from "./logins.ts";
import { many, one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";
import { webhookSettings } from "./webhooks.ts";

const { httpsListen, httpsPort, httpListen, agentListen, agentAddress, peerListen, domain, idpHost } = placeSettings;

export const edgeSettings = {
  httpsListen,
  httpsPort,
  httpListen,
  agentListen,
  agentAddress,
  peerListen,
  domain,
  idpHost,
  ...bothPlanesSettings,
  tcpBind: optional(
    "Address for the ports of TCP edges and tcp tunnels. API keys can open ports on this address: use a firewall for ports that must stay private.",
    ipAddress,
    { shownDefault: "every address" },
  ),
  trustedProxies: many(
    "Address or network (CIDR) of proxies in front of the public listeners; repeatable. These proxies must start each connection with a PROXY protocol header (version 1 or 2), and the server trusts that header.",
    network,
  ),
  trustedForwarders: many(
    "Address or network (CIDR) of HTTP proxies in front of the HTTPS listener; repeatable. The server takes the client's address from their X-Forwarded-For. List only proxies that set this header and accept no untrusted senders.",
    network,
  ),
  responseTimeout: one(
    "Maximum time from the complete request to the first byte of the service's response. After that, the visitor gets 504. Tunnels and routes can set another value.",
    patience,
    { default: "5m" },
  ),
  allowEncodedSlashes: toggle(
    "Accept paths with encoded slashes (%2F) or bytes that are not UTF-8, even if routes or rules distinguish paths. The server still rejects a path if decoding its slashes leads to another route.",
  ),
  drainDelay: one(
    "Seconds between a stop signal and the end of accepting connections. /readyz reports the stop during this time, so that load balancers choose other servers.",
    countKind("SECONDS", 0, 3600),
    { default: 5 },
  ),
  ...webhookSettings,
  ...loginSettings,
  ...policySettings,
  ...accessLogSettings,
  ...captureSettings,
} as const;

export type EdgeSettings = ValuesOf<typeof edgeSettings>;
