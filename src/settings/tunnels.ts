/**
 * Options of a tunnel, declared once: the flags of `postern http`, `tcp` and `tls`, and the keys of agent files
 * (`src/cli/agent-files/`), which are read to the same values.
 */
import { credential, headerField, label, patience, share, yesOrNo } from "./kinds/agents.ts";
import { country, hostName, network } from "./kinds/address.ts";
import { countKind, proxyVersion } from "./kinds/number.ts";
import { oauthProviderNames } from "./kinds/oauth-apps.ts";
import { namedText, oneOf, text } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional, toggle } from "./setting.ts";

const file = namedText("FILE");

/** Its address and name. */
const places = {
  url: optional(
    "Public URL to publish, such as https://app.example.com. The URL stays the same after reconnects.",
    namedText("URL"),
  ),
  hostname: optional("Host name of the public URL, instead of the full URL.", namedText("NAME"), { also: ["domain"] }),
  subdomain: optional("First part of a host name under the server's domain.", namedText("NAME")),
  label: many(
    "Label of a backend tunnel, name=value; repeatable. Edges with a matching backend use the tunnel.",
    label,
  ),
  binding: many(
    "Visibility of the endpoint, repeatable: public, or internal for traffic policies of the same account (default: depends on the name).",
    oneOf(["public", "internal"]),
  ),
  metadata: optional("Free text that the server shows with the tunnel.", text),
  description: optional("Description of the endpoint.", text),
  pooling: toggle(
    "Share the URL with other endpoints of the account that also set this option. The server chooses one at random for each request.",
    {
      also: ["pooling-enabled"],
    },
  ),
} as const;

/** Options for every kind of connection. */
const anyConnection = {
  cidrAllow: many(
    "Network in CIDR notation whose addresses are allowed; repeatable. All other addresses are denied.",
    network,
  ),
  cidrDeny: many("Network in CIDR notation whose addresses are denied; repeatable.", network),
  allowCountry: many(
    "Country whose visitors are allowed, by its two-letter code such as DE; repeatable. All other visitors are denied, and so are those whose country is unknown, such as visitors with a private address.",
    country,
  ),
  denyCountry: many(
    "Country whose visitors are denied; repeatable. Visitors whose country is unknown are allowed, unless allow-country is set.",
    country,
  ),
  trafficPolicyFile: optional(
    "File with the traffic policy of the URL, YAML or JSON. The server applies the policy before requests reach the agent.",
    file,
    { also: ["policy-file"] },
  ),
  proxyProtocol: one(
    "Version of the PROXY protocol header that the agent sends to the service at the start of each connection, with the client's address.",
    proxyVersion,
    { default: "none", also: ["proxy-proto", "upstream-proxy-protocol"] },
  ),
} as const;

const logins = {
  basicAuth: many(
    "User and password that visitors must enter; repeatable, or one per line in a file. Other users of this machine can see the value of a flag: use the file or the variable.",
    credential,
    { secret: true },
  ),
  oauth: optional("Require a login with this provider.", oneOf(oauthProviderNames)),
  oauthClientId: optional("Client id of your own app at the OAuth provider (default: the server's app).", text, {
    needs: "oauth",
  }),
  oauthClientSecret: optional("Client secret of the app.", text, { secret: true, needs: "oauthClientId" }),
  oauthScope: many("Scope to request from the OAuth provider; repeatable.", text, { needs: "oauth" }),
  oauthAllowEmail: many("E-mail address that has access after the login; repeatable.", text, { needs: "oauth" }),
  oauthAllowDomain: many("Domain of e-mail addresses that have access; repeatable.", text, { needs: "oauth" }),
  oidc: optional("Require a login with the OpenID provider that has this issuer.", httpUrl),
  oidcClientId: optional("Client id of the app at the OpenID provider.", text, { needs: "oidc" }),
  oidcClientSecret: optional("Client secret of the app.", text, { secret: true, needs: "oidc" }),
  oidcScope: many("Scope to request from the OpenID provider; repeatable.", text, { needs: "oidc" }),
  oidcAllowEmail: many("E-mail address that has access after the login; repeatable.", text, { needs: "oidc" }),
  oidcAllowDomain: many("Domain of e-mail addresses that have access; repeatable.", text, { needs: "oidc" }),
  saml: optional(
    "Require a login with the SAML provider in this metadata file (an EntityDescriptor) or at this https URL. The server fetches the URL regularly. The values to register at the provider are at /.postern/saml of the public URL.",
    namedText("FILE|URL"),
  ),
  samlGroup: many("Group of the SAML provider whose members have access; repeatable.", text, { needs: "saml" }),
  samlNameidFormat: optional(
    "Name identifier format of the provider's assertions (default: persistent).",
    namedText("URN"),
    { needs: "saml" },
  ),
  samlForceAuthn: optional("Ask the provider to request credentials at each login (default: false).", yesOrNo, {
    needs: "saml",
  }),
  samlIdpInitiated: optional("Accept logins that start at the provider (default: true).", yesOrNo, { needs: "saml" }),
} as const;

const mcp = {
  mcp: toggle(
    "Publish an MCP server (Model Context Protocol). The agent checks that the target speaks MCP and prints how clients add it. With a login, MCP clients get access by OAuth. The target may have a path, such as 8000/mcp.",
  ),
  mcpStdio: optional(
    'Command that starts an MCP server on standard input and output, such as "npx some-server". The agent starts it once for each session, and publishes it over Streamable HTTP.',
    namedText("COMMAND"),
    { concealed: true },
  ),
  mcpMaxSessions: optional(
    "Maximum number of sessions of the command, each with its own process (default: 20).",
    countKind("COUNT", 1, 1000),
    { needs: "mcpStdio" },
  ),
  mcpIdleTimeout: optional("End a session of the command after this time without a request (default: 30m).", patience, {
    needs: "mcpStdio",
  }),
  mcpRedirectUri: many(
    "Redirect URI of an MCP client that does not run on its user's machine, or has its own scheme; repeatable. Addresses of the client's own machine are always allowed.",
    text,
  ),
} as const;

const requests = {
  ...logins,
  upstreamTimeout: optional(
    "Maximum time until the first byte of the service's response (default: the server's --response-timeout).",
    patience,
  ),
  encodedSlashes: toggle(
    "Accept paths with encoded slashes (%2F) or bytes that are not UTF-8, even if a rule reads the path.",
  ),
  verifyWebhook: optional(
    "Accept only webhooks with a valid signature of this provider, such as github.",
    namedText("PROVIDER"),
  ),
  verifyWebhookSecret: optional("Secret that the provider signs with.", text, {
    secret: true,
    needs: "verifyWebhook",
  }),
  uaFilterAllow: many("Regular expression of allowed user agents; repeatable.", namedText("REGEX")),
  uaFilterDeny: many("Regular expression of denied user agents; repeatable.", namedText("REGEX")),
  requestHeaderAdd: many("Header field to set in requests; repeatable.", headerField, { concealed: true }),
  requestHeaderRemove: many("Header field to remove from requests; repeatable.", namedText("NAME")),
  responseHeaderAdd: many("Header field to set in responses; repeatable.", headerField, { concealed: true }),
  responseHeaderRemove: many("Header field to remove from responses; repeatable.", namedText("NAME")),
  capture: optional(
    "Whether the server captures the requests of this URL, for searches and exports (default: as the account says).",
    yesOrNo,
  ),
  captureSample: optional(
    "Share of forwarded and answered requests to capture, 0 to 1 (default: 1). The server captures all denied and failed ones.",
    share,
    { needs: "capture" },
  ),
  captureRedactHeader: many(
    "Name of a header field that the server stores as a hash; repeatable. Credentials and cookies always are.",
    namedText("NAME"),
    { needs: "capture" },
  ),
  captureRedactQuery: many(
    "Name of a query parameter that the server stores as a hash; repeatable.",
    namedText("NAME"),
    {
      needs: "capture",
    },
  ),
  compression: toggle("Compress responses for clients that accept compression."),
  circuitBreaker: optional("Reject requests for a short time when more than this share of them fails with 5xx.", share),
  websocketTcpConverter: toggle("Send the content of WebSockets to the service as plain TCP."),
} as const;

/** TLS options of the service. */
const upstreamTls = {
  upstreamTlsVerify: toggle(
    "Verify the certificate of a service on this machine too. The agent always verifies the certificates of other machines.",
  ),
  upstreamServerName: optional(
    "Name that the service's certificate must have, if it differs from the host in the service's URL. The agent sends this name (SNI) and verifies the certificate.",
    hostName,
  ),
  upstreamTlsVerifyCas: optional("PEM file with the CAs that sign the service's certificate.", file),
} as const;

const clientCertificates = {
  mutualTlsCas: many("PEM file with the CAs that sign the client certificates of visitors; repeatable.", file),
} as const;

export const httpTunnelSettings = {
  ...places,
  scheme: many("Scheme of the public URL: https, http, or both (default: https).", oneOf(["http", "https"])),
  ...anyConnection,
  ...requests,
  ...mcp,
  ...clientCertificates,
  hostHeader: optional(
    "Host header for the service: rewrite for the service's own name, preserve for the visitor's, or a name.",
    namedText("rewrite|preserve|NAME"),
  ),
  upstreamProtocol: one(
    "Protocol of the service. http2 means HTTP/2 with prior knowledge, which gRPC services need.",
    oneOf(["http1", "http2"]),
    { default: "http1", also: ["app-protocol"] },
  ),
  ...upstreamTls,
  inspect: one("Allow the agent to capture requests for the inspector.", yesOrNo, { default: "true" }),
} as const;

export const tcpTunnelSettings = {
  ...places,
  remoteAddr: optional(
    "HOST:PORT of the public URL, at an address that the account has reserved.",
    namedText("HOST:PORT"),
  ),
  ...anyConnection,
} as const;

export const tlsTunnelSettings = {
  ...places,
  ...anyConnection,
  ...clientCertificates,
  terminateAt: optional(
    "Where TLS ends: at the edge, at the agent (only the agent sees the content), or at the service (upstream). Default: edge if it has a certificate, else upstream.",
    oneOf(["edge", "agent", "upstream"]),
  ),
  crt: optional("PEM file with the certificate for the TLS connections.", file, { needs: "key" }),
  key: optional("PEM file with the certificate's key.", file, { needs: "crt" }),
} as const;

/** Options for all kinds of tunnels. */
export const tunnelSettings = { ...httpTunnelSettings, ...tcpTunnelSettings, ...tlsTunnelSettings } as const;
