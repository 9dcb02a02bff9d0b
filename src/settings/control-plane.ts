/** Read by the control plane. */
import { acmeSettings } from "./acme.ts";
import { bothPlanesSettings } from "./both-planes.ts";
import { consoleSettings } from "./console.ts";
import { eventSettings } from "./events.ts";
import { hostName, machine, network } from "./kinds/address.ts";
import { countKind } from "./kinds/number.ts";
import { origin } from "./kinds/url.ts";
import { inboxSettings } from "./inbox.ts";
import { loginSettings } from "./logins.ts";
import { placeSettings } from "./places.ts";
import { many, one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";
import { storageSettings } from "./storage.ts";

const { data, database, apiListen, apiUrl, httpsListen, httpsPort, agentListen, peerListen, domain, idpHost } =
  placeSettings;

const { loginCa, loginIssuer, loginIdleDays, oidcSharedCallback, clockSkew } = loginSettings;

export const controlPlaneSettings = {
  data,
  database,
  apiListen,
  apiUrl,
  httpsListen,
  httpsPort,
  agentListen,
  agentAddress: placeSettings.agentAddress,
  agentCa: placeSettings.agentCa,
  peerListen,
  domain,
  idpHost,
  ...bothPlanesSettings,
  ...storageSettings,
  ...inboxSettings,
  peerAddress: optional("Host name or address at which other servers reach this server (--cluster).", machine, {
    shownDefault: "the address on which it listens for other servers, or from which it reaches the database",
  }),
  apiOrigins: many(
    "Origin of pages that may call the API from browsers, such as https://app.example.com; repeatable. By default no page may.",
    origin,
  ),
  ...consoleSettings,
  apiRate: one(
    "Maximum requests per minute for each API key. The server answers further requests with 429.",
    countKind("NUMBER"),
    {
      default: 60_000,
    },
  ),
  metricsFrom: many(
    "Network (CIDR) from which monitoring may read /metrics, in addition to this machine; repeatable. Do not list a proxy or balancer: everyone behind it could read the metrics.",
    network,
  ),
  requireReservedDomains: toggle("Reject hostports whose domain is not reserved."),
  publicSuffix: many(
    "Additional public suffix. No account can hold this name, or a wildcard directly below it; repeatable.",
    hostName,
  ),
  allowPublicSuffix: many(
    "Public suffix that accounts can hold anyway, such as one of a private network; repeatable.",
    hostName,
  ),
  loginCa,
  loginIssuer,
  loginIdleDays,
  oidcSharedCallback,
  clockSkew,
  ...eventSettings,
  ...acmeSettings,
} as const;

export type ControlPlaneSettings = ValuesOf<typeof controlPlaneSettings>;
