/** Read by the control plane. */
import { acmeSettings } from "./acme.ts";
import { bothPlanesSettings } from "./both-planes.ts";
import { consoleSettings } from "./console.ts";
import { eventSettings } from "./events.ts";
import { hostName, machine } from "./kinds/address.ts";
import { count } from "./kinds/number.ts";
import { origin } from "./kinds/url.ts";
import { loginSettings } from "./logins.ts";
import { placeSettings } from "./places.ts";
import { many, one, optional, toggle } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";
import { storageSettings } from "./storage.ts";

const { data, database, apiListen, apiUrl, httpsListen, httpsPort, peerListen, domain, idpHost } = placeSettings;

const { loginCa, loginIssuer, loginIdleDays, oidcSharedCallback, clockSkew } = loginSettings;

export const controlPlaneSettings = {
  data,
  database,
  apiListen,
  apiUrl,
  httpsListen,
  httpsPort,
  peerListen,
  domain,
  idpHost,
  ...bothPlanesSettings,
  ...storageSettings,
  peerAddress: optional("Host name or address by which other servers reach this one (--cluster).", machine, {
    shownDefault: "where it listens for them, or the address from which it reaches the database",
  }),
  apiOrigins: many(
    "Origin whose pages may call the API from browsers, such as https://app.example.com; repeatable. Without one, none may.",
    origin,
  ),
  ...consoleSettings,
  apiRate: one("Requests a minute that one API key may make; more are answered 429.", count("NUMBER"), {
    default: 60_000,
  }),
  requireReservedDomains: toggle("Refuse hostports whose domain was not reserved before."),
  publicSuffix: many(
    "Name to treat as a public suffix, besides those of the public suffix list: no account may hold it, nor a wildcard right below it; repeatable.",
    hostName,
  ),
  allowPublicSuffix: many(
    "Public suffix that accounts may hold nevertheless, such as one of a private network; repeatable.",
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
