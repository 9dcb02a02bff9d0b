/**
 * What a tunnel may ask for, declared once: the flags of `postern http`, `tcp` and `tls`, and the keys of agents' files
 * (`src/cli/agent-files/`), which are read to the same values.
 */
import { credential, headerField, label, patience, share, yesOrNo } from "./kinds/agents.ts";
import { hostName, network } from "./kinds/address.ts";
import { proxyVersion } from "./kinds/number.ts";
import { oauthProviderNames } from "./kinds/oauth-apps.ts";
import { named, oneOf, text } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional, toggle } from "./setting.ts";

const file = named("FILE");

/** Where it is, and what it is called. */
const places = {
  url: optional(
    "Public URL to publish, e.g. https://app.example.com; it stays the same over reconnects.",
    named("URL"),
  ),
  hostname: optional("Host name of the public URL, instead of the whole.", named("NAME"), { also: ["domain"] }),
  subdomain: optional("First part of a host name below the server's domain.", named("NAME")),
  label: many("Label of a backend tunnel, name=value; repeatable. Publishes to the edges that ask for it.", label),
  binding: many(
    "Where it is reached from, repeatable: public, or internal for the traffic policies of the account alone (default: what its name says).",
    oneOf(["public", "internal"]),
  ),
  metadata: optional("Free text shown with the tunnel.", text),
  description: optional("What the endpoint is for, shown with it.", text),
  pooling: toggle("Share the URL with other endpoints of the account that ask for it, too: one is chosen at random.", {
    also: ["pooling-enabled"],
  }),
} as const;

/** What every kind of connection may be asked. */
const anyConnection = {
  cidrAllow: many("Network whose addresses may come in, in CIDR notation; repeatable. No others may then.", network),
  cidrDeny: many("Network whose addresses may not come in, in CIDR notation; repeatable.", network),
  trafficPolicyFile: optional(
    "File with the traffic policy of the URL, YAML or JSON; the server acts on it before the agent sees anything.",
    file,
    { also: ["policy-file"] },
  ),
  proxyProtocol: one(
    "PROXY protocol header that the service wants before the bytes of each connection, with the client's address.",
    proxyVersion,
    { default: "none", also: ["proxy-proto", "upstream-proxy-protocol"] },
  ),
} as const;

const logins = {
  basicAuth: many(
    "Ask visitors for this user and password; repeatable, or one a line in a file. Seen by everybody on this machine when it is a flag: better the file or the variable.",
    credential,
    { secret: true },
  ),
  oauth: optional("Have visitors log in with this provider.", oneOf(oauthProviderNames)),
  oauthClientId: optional("Client of the own app at the OAuth provider (default: the server's app).", text, {
    needs: "oauth",
  }),
  oauthClientSecret: optional("Secret of that app.", text, { secret: true, needs: "oauthClientId" }),
  oauthScope: many("Scope to ask the OAuth provider for; repeatable.", text, { needs: "oauth" }),
  oauthAllowEmail: many("E-mail address that may come in, of those that log in; repeatable.", text, { needs: "oauth" }),
  oauthAllowDomain: many("Domain of e-mail addresses that may come in; repeatable.", text, { needs: "oauth" }),
  oidc: optional("Have visitors log in with the OpenID provider that has this issuer.", httpUrl),
  oidcClientId: optional("Client of the app at the OpenID provider.", text, { needs: "oidc" }),
  oidcClientSecret: optional("Secret of that app.", text, { secret: true, needs: "oidc" }),
  oidcScope: many("Scope to ask the OpenID provider for; repeatable.", text, { needs: "oidc" }),
  oidcAllowEmail: many("E-mail address that may come in, of those that log in; repeatable.", text, { needs: "oidc" }),
  oidcAllowDomain: many("Domain of e-mail addresses that may come in; repeatable.", text, { needs: "oidc" }),
  saml: optional(
    "Have visitors log in with the SAML provider whose metadata (an EntityDescriptor) is in this file, or at this https URL, where the server looks for it and for newer ones. What the provider is to be told is at /.postern/saml of the public URL.",
    named("FILE|URL"),
  ),
  samlGroup: many("Group of the SAML provider whose members may come in; repeatable.", text, { needs: "saml" }),
  samlNameidFormat: optional(
    "Name identifier format that the provider's assertions have (default: persistent).",
    named("URN"),
    { needs: "saml" },
  ),
  samlForceAuthn: optional("Whether the provider is to ask for credentials at each login (default: false).", yesOrNo, {
    needs: "saml",
  }),
  samlIdpInitiated: optional("Whether logins may begin at the provider (default: true).", yesOrNo, { needs: "saml" }),
} as const;

const requests = {
  ...logins,
  upstreamTimeout: optional(
    "How long the service may take for the first byte of its response (default: the server's --response-timeout).",
    patience,
  ),
  encodedSlashes: toggle(
    "Accept paths with encoded slashes (%2F), or with bytes that are not UTF-8, also where a rule reads the path.",
  ),
  verifyWebhook: optional("Let only webhooks in that this provider has signed, e.g. github.", named("PROVIDER")),
  verifyWebhookSecret: optional("Secret with which the provider signs.", text, {
    secret: true,
    needs: "verifyWebhook",
  }),
  uaFilterAllow: many("Regular expression of user agents that may come in; repeatable.", named("REGEX")),
  uaFilterDeny: many("Regular expression of user agents that may not come in; repeatable.", named("REGEX")),
  requestHeaderAdd: many("Field to set in requests; repeatable.", headerField),
  requestHeaderRemove: many("Field to take out of requests; repeatable.", named("NAME")),
  responseHeaderAdd: many("Field to set in responses; repeatable.", headerField),
  responseHeaderRemove: many("Field to take out of responses; repeatable.", named("NAME")),
  compression: toggle("Compress responses for clients that take them so."),
  circuitBreaker: optional("Refuse requests for a while when more than this share of them fails with 5xx.", share),
  websocketTcpConverter: toggle("Give the service the bytes of WebSockets as plain TCP."),
} as const;

/** Of the service, in TLS. */
const upstreamTls = {
  upstreamTlsVerify: toggle(
    "Refuse a service on this machine, too, whose certificate is not good; that of any other is always verified.",
  ),
  upstreamServerName: optional(
    "Name that the service's certificate must have, if it is not the host of the service's URL. The service is asked for it (SNI), and its certificate is verified.",
    hostName,
  ),
  upstreamTlsVerifyCas: optional("PEM file of the authorities that the service's certificate must be from.", file),
} as const;

const clientCertificates = {
  mutualTlsCas: many("PEM file of authorities that visitors must show a certificate from; repeatable.", file),
} as const;

export const httpTunnelSettings = {
  ...places,
  scheme: many(
    "https, http, or both of them: how the public URL is reached (default: https).",
    oneOf(["http", "https"]),
  ),
  ...anyConnection,
  ...requests,
  ...clientCertificates,
  hostHeader: optional(
    "The Host that the service sees: rewrite for its own name, preserve for the visitor's, or a name.",
    named("rewrite|preserve|NAME"),
  ),
  upstreamProtocol: one(
    "What the service speaks: with http2 it is asked in HTTP/2 with prior knowledge, as gRPC services want it.",
    oneOf(["http1", "http2"]),
    { default: "http1", also: ["app-protocol"] },
  ),
  ...upstreamTls,
  inspect: one("Whether the agent may keep requests for the inspector.", yesOrNo, { default: "true" }),
} as const;

export const tcpTunnelSettings = {
  ...places,
  remoteAddr: optional("HOST:PORT of the public URL, of an address that the account has reserved.", named("HOST:PORT")),
  ...anyConnection,
} as const;

export const tlsTunnelSettings = {
  ...places,
  ...anyConnection,
  ...clientCertificates,
  terminateAt: optional(
    "Where TLS ends: at the edge, at the agent, so that nobody else sees what is in it, or at the service (upstream); edge where there is a certificate, else upstream.",
    oneOf(["edge", "agent", "upstream"]),
  ),
  crt: optional("PEM file of the certificate with which TLS is ended.", file, { needs: "key" }),
  key: optional("PEM file of its key.", file, { needs: "crt" }),
} as const;

/** All of them, for whichever kind of tunnel. */
export const tunnelSettings = { ...httpTunnelSettings, ...tcpTunnelSettings, ...tlsTunnelSettings } as const;
