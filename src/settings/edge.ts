/** Read by the edge. */
import { bothPlanesSettings } from "./both-planes.ts";
import { ipAddress, network } from "./kinds/address.ts";
import { patience } from "./kinds/agents.ts";
import { count } from "./kinds/number.ts";
import { policySettings } from "./policies.ts";
import { placeSettings } from "./places.ts";
import { loginSettings } from "./logins.ts";
import { many, one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";
import { webhookSettings } from "./webhooks.ts";

const { httpsListen, httpsPort, httpListen, agentListen, peerListen, domain, idpHost } = placeSettings;

export const edgeSettings = {
  httpsListen,
  httpsPort,
  httpListen,
  agentListen,
  peerListen,
  domain,
  idpHost,
  ...bothPlanesSettings,
  tcpBind: optional(
    "Address on which the ports of TCP edges and tcp tunnels are listened on. API keys open ports there: keep those that must not be public behind a firewall.",
    ipAddress,
    { shownDefault: "every address" },
  ),
  trustedProxies: many(
    "Address, or network in CIDR notation, of proxies in front of the public listeners; repeatable. They must begin each connection with a PROXY protocol header (version 1 or 2), which is believed.",
    network,
  ),
  trustedForwarders: many(
    "Address, or network in CIDR notation, of HTTP proxies in front of the HTTPS listener; repeatable. A request from there has the source that its X-Forwarded-For names: list only proxies that write that field, and whom nobody else can send through.",
    network,
  ),
  responseTimeout: one(
    "How long a service may take for the first byte of its response once it has the whole request; then the visitor gets 504. Tunnels and routes can set their own.",
    patience,
    { default: "5m" },
  ),
  allowEncodedSlashes: toggle(
    "Accept paths with encoded slashes (%2F), or with bytes that are not UTF-8, also where routes or rules tell paths apart. A path is still refused if decoding its slashes first leads to another route.",
  ),
  drainDelay: one(
    "Seconds for which a server that is told to stop says so at /readyz and still takes connections, so that balancers stop choosing it first.",
    count("SECONDS", 0, 3600),
    { default: 5 },
  ),
  ...webhookSettings,
  ...loginSettings,
  ...policySettings,
} as const;

export type EdgeSettings = ValuesOf<typeof edgeSettings>;
