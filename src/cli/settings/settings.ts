/**
 * Every setting of every command. Each has a flag (`--https-listen`), a variable (`POSTERN_HTTPS_LISTEN`) and a
 * key in the YAML file (`https_listen`); flags win over the environment over the file over the default.
 */
import { defaultLoginLimits } from "../../identity/settings.ts";
import { challengeTypes } from "../../acme/challenge-types.ts";
import { domainProofs } from "../../api/domain-proof/rules.ts";
import { defaultAcmeSettings } from "../../api/provisioning/settings.ts";
import { logLevels } from "../../lib/log.ts";
import { defaultWebhookSettings } from "../../traffic/parts/webhook-check.ts";
import { defaultQuotas } from "../../storage/quotas.ts";
import {
  count,
  list,
  listen,
  oneOf,
  optional,
  optionalListen,
  optionalOneOf,
  optionalPort,
  optionalVisible,
  portRange,
  proxyProtocol,
  text,
  hostNames,
  toggle,
} from "./setting.ts";

export const settings = {
  config: optional("YAML file with settings, keys in snake_case.", { placeholder: "FILE" }),
  data: text("Directory with everything that is kept.", ".postern", { placeholder: "DIR" }),
  database: optional(
    "Where the configuration is stored: a SQLite file, or postgres://… (default: postern.db in the data directory).",
    {
      placeholder: "FILE|URL",
      secret: true,
    },
  ),
  historyDays: count(
    "Days for which revisions are kept: who wrote what, and the state then. Older ones are deleted; 0 keeps all.",
    365,
    0,
  ),
  apiListen: listen("Where the management API listens.", "127.0.0.1:4700"),
  apiUrl: optional("The API's base URL as clients reach it (default: from where it listens).", { placeholder: "URL" }),
  apiOrigins: list(
    "Origin whose pages may call the API from browsers, such as https://app.example.com; repeatable. Without one, none may.",
    { placeholder: "ORIGIN" },
  ),
  apiRate: count("Requests a minute that one API key may make; beyond it 429.", 60_000),
  accountMaxObjects: count("Objects of each kind that an account may have; beyond it 403.", defaultQuotas.objects),
  ownerMaxObjects: count(
    "Objects of each kind that one other may own, such as routes of an edge or rules of an IP policy; beyond it 403.",
    defaultQuotas.owned,
  ),
  accountMaxBytes: count(
    "Bytes that the objects of an account may have together, as JSON; beyond it 403.",
    defaultQuotas.bytes,
  ),
  httpsListen: listen("Where public HTTPS and TLS traffic comes in.", ":8443"),
  httpsPort: optionalPort("The port that public URLs name, where something in front forwards it.", "the listener's"),
  httpListen: optionalListen(
    "Where plain HTTP is redirected to HTTPS, and served for endpoints that agents publish without TLS.",
  ),
  agentListen: listen("Where agents connect.", ":4443"),
  tcpBind: optional(
    "Address on which the ports of TCP edges and tcp tunnels are listened on. API keys open ports there: keep those that must not be public behind a firewall.",
    { placeholder: "ADDRESS", shown: "every address" },
  ),
  tcpPorts: portRange("Ports that tcp tunnels and reserved addresses are given.", "20000-29999"),
  domain: text("Domain under which names for agents are made up.", "localhost", { placeholder: "NAME" }),
  trustedProxies: list(
    "Address, or network in CIDR notation, of proxies in front of the public listeners; repeatable. They must send the PROXY protocol, and are believed.",
    { placeholder: "CIDR" },
  ),
  trustedForwarders: list(
    "Address, or network in CIDR notation, of HTTP proxies in front of the HTTPS listener; repeatable. A request from there has the source that its X-Forwarded-For names: list only proxies that write that field, and whom nobody else can send through.",
    { placeholder: "CIDR" },
  ),
  webhookMaxBytes: count(
    "Bytes of a webhook's body that are held in memory until its signature is verified; beyond it 413.",
    defaultWebhookSettings.maxBytes,
  ),
  webhookRefuseReplays: toggle(
    "Refuse a webhook whose signed id was answered with success before (SNS, Svix, Clerk, Brex, Mailgun, Plivo). A provider that missed the answer gets 409 when it tries again.",
  ),
  oauthApps: optional(
    "YAML file, readable by its owner alone, with the server's own apps at OAuth providers: provider, then client_id, client_secret, and base_url where the provider is elsewhere.",
    { placeholder: "FILE" },
  ),
  loginCa: optional("PEM file of the authorities that identity providers have their certificates from.", {
    placeholder: "FILE",
    shown: "the system's",
  }),
  loginMaxSessions: count(
    "Logins that an account may have; with one more the one that was unused for longest ends.",
    defaultLoginLimits.maxSessions,
  ),
  loginIdleDays: count("Days of disuse after which a login ends.", defaultLoginLimits.idleDays),
  clockSkew: count(
    "Seconds by which the clocks of identity providers may differ, up to 300.",
    defaultLoginLimits.skewSeconds,
    0,
  ),
  oidcSharedCallback: toggle(
    "Have the visitors of every OpenID issuer come back at /oauth2/callback: only where all accounts trust each other.",
  ),
  allowLocalUpstreams: toggle(
    "Let static backends name loopback and link-local addresses of the server, events go to any address, and identity providers be reached over http.",
  ),
  awsAccessKeyId: optional("Id of the server's own AWS key, with which event destinations take roles.", {
    placeholder: "ID",
  }),
  awsSecretAccessKey: optional("The server's own AWS key.", { placeholder: "KEY", secret: true }),
  awsStsEndpoint: optional("Where AWS' token service is reached (default: in each region).", { placeholder: "URL" }),
  requireReservedDomains: toggle("Refuse hostports whose domain was not reserved before."),
  requireDomainProof: oneOf(
    "How accounts prove that host names outside of the server's domain are theirs: by a TXT record, or by the operator's word alone.",
    domainProofs,
    "none",
  ),
  publicSuffix: hostNames(
    "Name that no account may hold, nor a wildcard right below it, besides those of the public suffix list; repeatable.",
  ),
  allowPublicSuffix: hostNames(
    "Public suffix that accounts may hold all the same, as may be right for names of a private network; repeatable.",
  ),
  acmeDirectory: text(
    "ACME directory of the authority that issues certificates for domains with a policy.",
    defaultAcmeSettings.directoryUrl,
    { placeholder: "URL" },
  ),
  acmeCa: optional(
    "PEM file with the CA that the ACME directory's server must be certified by (default: the system's).",
    {
      placeholder: "FILE",
    },
  ),
  acmeEmail: optional("Address that the authority may write to.", { placeholder: "ADDRESS" }),
  acmeAgree: toggle("Agree to the authority's terms of service; without it no certificate is asked for."),
  acmeChallenge: optionalOneOf("Use only this challenge.", challengeTypes, "each that works"),
  bootstrapApiKey: optional("Value of the first API key, instead of a random one.", {
    placeholder: "KEY",
    secret: true,
  }),
  bootstrapAuthtoken: optional("Value of the first agent token, instead of a random one.", {
    placeholder: "TOKEN",
    secret: true,
  }),
  sealingKey: optional(
    "Keys that stored secrets are sealed under, 32 bytes in base64 each, the newest first (default: one made by the first start, kept in the data directory).",
    {
      placeholder: "KEY",
      secret: true,
    },
  ),
  logLevel: oneOf("Least level that is logged.", logLevels, "info"),
  logFormat: optionalOneOf("Form of the log lines.", ["text", "json"], "text on a terminal, json otherwise"),
  apiKey: optionalVisible("API key to call the API with (default: the local server's).", {
    placeholder: "KEY",
    secret: true,
  }),
  json: toggle("Print JSON."),
  prune: toggle("Delete what the document has made before and does not have any more."),
  document: optional("Only what this document has made.", { placeholder: "NAME" }),
  reason: optional("Why, for the log of writes."),

  url: optional("Public URL to publish, e.g. https://app.example.com; it stays the same over reconnects.", {
    placeholder: "URL",
  }),
  label: list("Label of a backend tunnel, name=value; repeatable. Publishes to the edges that ask for it.", {
    placeholder: "NAME=VALUE",
  }),
  requireUpstream: toggle(
    "End with exit code 6 if the service cannot be reached at the start. Without it the URL is published all the same, with a warning.",
  ),
  proxyProtocol: proxyProtocol(
    "PROXY protocol header that the service wants before the bytes of each connection, with the client's address.",
  ),
  upstreamProtocol: oneOf(
    "What the service speaks: with http2 it is asked in HTTP/2 with prior knowledge, as gRPC services want it, and requests are not shown.",
    ["http1", "http2"],
    "http1",
  ),
  metadata: text("Free text shown with the tunnel.", ""),
  server: optional("The server's agent listener (default: the local server's).", { placeholder: "HOST:PORT" }),
  ca: optional(
    "PEM file with the CA that the server must be certified by; `system` for the system's (default: the local server's, else the system's).",
    {
      placeholder: "FILE",
    },
  ),
  authtoken: optional("Agent token (default: the local server's).", {
    placeholder: "TOKEN",
    flag: "token",
    secret: true,
  }),
} as const;
