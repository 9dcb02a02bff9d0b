/**
 * Vocabulary of agent files: the setting of each key. No key is ignored silently. Keys that this agent does not support
 * have a row with advice.
 */
import type { SourceNode } from "./source.ts";

/** One key; `a.b` is the key `b` of the map `a`. */
export interface KeyRow {
  readonly key: string;
  /** Setting of the key. */
  readonly setting?: string;
  /** Returns the texts that the setting reads. Throws an `Error` with the allowed values. */
  readonly texts?: (node: SourceNode) => readonly string[] | undefined;
  /** Whether the value is PEM, or a path relative to the file. */
  readonly isPath?: true;
  /** Another setting that the key implies. */
  readonly implies?: readonly [setting: string, text: string];
  /** Advice for a refused key. Values in `allowed` are accepted because they request the default. */
  readonly refused?: string;
  readonly allowed?: readonly string[];
  /** Reason in the warning for an ignored key. If `ignoredTexts` is set, only these values are ignored. */
  readonly ignored?: string;
  readonly ignoredTexts?: readonly string[];
}

const renameNames =
  (names: Readonly<Record<string, string>>) =>
  (node: SourceNode): readonly string[] | undefined => {
    if (node.value?.kind !== "text") return undefined;
    return [names[node.value.text] ?? node.value.text];
  };

const textOf = renameNames({});

/** The server accepts a policy as text, so a map is converted to text. */
function policyText(node: SourceNode): readonly string[] | undefined {
  if (node.value?.kind === "map") return [JSON.stringify(node.value.plain)];
  return node.value?.kind === "text" ? [node.value.text] : undefined;
}

/** A path here would be read as a file, as with `--saml`. */
function webAddress(node: SourceNode): readonly string[] | undefined {
  const texts = textOf(node);
  if (texts?.every((text) => /^https?:\/\//i.test(text)) === false) {
    throw new Error("must be an https:// URL, use saml.idp_metadata_file for a file");
  }
  return texts;
}

const pathsRow = (key: string, setting: string): KeyRow => ({ key, setting, isPath: true });

/** Modules and other settings of a tunnel, by the names that all formats share. */
const ofTraffic: readonly KeyRow[] = [
  { key: "metadata", setting: "metadata" },
  { key: "description", setting: "description" },
  { key: "inspect", setting: "inspect" },
  { key: "basic_auth", setting: "basicAuth" },
  { key: "capture.enabled", setting: "capture" },
  { key: "capture.sample", setting: "captureSample" },
  { key: "capture.redact_headers", setting: "captureRedactHeader" },
  { key: "capture.redact_query", setting: "captureRedactQuery" },
  { key: "circuit_breaker", setting: "circuitBreaker" },
  { key: "upstream_timeout", setting: "upstreamTimeout" },
  { key: "encoded_slashes", setting: "encodedSlashes" },
  { key: "compression", setting: "compression" },
  { key: "country_restriction.allow", setting: "allowCountry" },
  { key: "country_restriction.deny", setting: "denyCountry" },
  { key: "allow_country", setting: "allowCountry" },
  { key: "deny_country", setting: "denyCountry" },
  { key: "ip_restriction.allow_cidrs", setting: "cidrAllow" },
  { key: "ip_restriction.deny_cidrs", setting: "cidrDeny" },
  { key: "cidr_allow", setting: "cidrAllow" },
  { key: "cidr_deny", setting: "cidrDeny" },
  pathsRow("mutual_tls_cas", "mutualTlsCas"),
  { key: "oauth.provider", setting: "oauth" },
  { key: "oauth.client_id", setting: "oauthClientId" },
  { key: "oauth.client_secret", setting: "oauthClientSecret" },
  { key: "oauth.scopes", setting: "oauthScope" },
  { key: "oauth.oauth_scopes", setting: "oauthScope" },
  { key: "oauth.allow_emails", setting: "oauthAllowEmail" },
  { key: "oauth.allow_domains", setting: "oauthAllowDomain" },
  { key: "oidc.issuer_url", setting: "oidc" },
  { key: "oidc.client_id", setting: "oidcClientId" },
  { key: "oidc.client_secret", setting: "oidcClientSecret" },
  { key: "oidc.scopes", setting: "oidcScope" },
  { key: "oidc.allow_emails", setting: "oidcAllowEmail" },
  { key: "oidc.allow_domains", setting: "oidcAllowDomain" },
  { key: "saml.idp_metadata", setting: "samlMetadata" },
  { key: "saml.idp_metadata_url", setting: "saml", texts: webAddress },
  pathsRow("saml.idp_metadata_file", "saml"),
  { key: "saml.authorized_groups", setting: "samlGroup" },
  { key: "saml.nameid_format", setting: "samlNameidFormat" },
  { key: "saml.force_authn", setting: "samlForceAuthn" },
  { key: "saml.allow_idp_initiated", setting: "samlIdpInitiated" },
  { key: "request_header.add", setting: "requestHeaderAdd" },
  { key: "request_header.remove", setting: "requestHeaderRemove" },
  { key: "response_header.add", setting: "responseHeaderAdd" },
  { key: "response_header.remove", setting: "responseHeaderRemove" },
  { key: "user_agent_filter.allow", setting: "uaFilterAllow" },
  { key: "user_agent_filter.deny", setting: "uaFilterDeny" },
  { key: "verify_webhook.provider", setting: "verifyWebhook" },
  { key: "verify_webhook.secret", setting: "verifyWebhookSecret" },
  { key: "websocket_tcp_converter", setting: "websocketTcpConverter" },
  { key: "mcp", setting: "mcp" },
  { key: "mcp_stdio", setting: "mcpStdio" },
  { key: "mcp_max_sessions", setting: "mcpMaxSessions" },
  { key: "mcp_idle_timeout", setting: "mcpIdleTimeout" },
  { key: "mcp_redirect_uris", setting: "mcpRedirectUri" },
  { key: "traffic_policy", setting: "trafficPolicy", texts: policyText },
  { key: "policy", setting: "trafficPolicy", texts: policyText },
  pathsRow("traffic_policy_file", "trafficPolicyFile"),
  pathsRow("policy_file", "trafficPolicyFile"),
  { key: "host_header", setting: "hostHeader" },
  { key: "upstream_protocol", setting: "upstreamProtocol" },
  { key: "upstream_tls_verify", setting: "upstreamTlsVerify" },
  pathsRow("upstream_tls_verify_cas", "upstreamTlsVerifyCas"),
  { key: "upstream_server_name", setting: "upstreamServerName" },
  { key: "pooling_enabled", setting: "pooling" },
  { key: "bindings", setting: "binding" },
  { key: "url", setting: "url" },
];

const proxyProtocol = (key: string): KeyRow => ({
  key,
  setting: "proxyProtocol",
  texts: renameNames({ "": "none", "0": "none" }),
});

/** Keys of an entry of `tunnels:`. */
export const tunnelKeys: readonly KeyRow[] = [
  ...ofTraffic,
  { key: "proto", setting: "proto" },
  { key: "addr", setting: "addr" },
  { key: "domain", setting: "hostname" },
  { key: "hostname", setting: "hostname" },
  { key: "subdomain", setting: "subdomain" },
  { key: "remote_addr", setting: "remoteAddr" },
  { key: "labels", setting: "label" },
  { key: "schemes", setting: "scheme" },
  proxyProtocol("proxy_proto"),
  { key: "app_protocol", setting: "upstreamProtocol" },
  { key: "terminate_at", setting: "terminateAt" },
  pathsRow("crt", "crt"),
  pathsRow("key", "key"),
];

/** Key for the name of a separate entry. In files, the name is the key of the entry. */
export const nameKey: KeyRow = { key: "name", setting: "name" };

/** Keys of an entry of `endpoints:`. */
export const endpointKeys: readonly KeyRow[] = [
  ...ofTraffic,
  nameKey,
  { key: "upstream.url", setting: "addr" },
  // All services get bytes unchanged. For HTTP services, `http1` and `http2` set the protocol.
  {
    key: "upstream.protocol",
    setting: "upstreamProtocol",
    texts: (node) => (node.value?.kind === "text" && node.value.text === "tcp" ? [] : textOf(node)),
  },
  proxyProtocol("upstream.proxy_protocol"),
  proxyProtocol("proxy_protocol"),
  proxyProtocol("proxy_proto"),
  { key: "upstream.tls_verify", setting: "upstreamTlsVerify" },
  pathsRow("upstream.tls_verify_cas", "upstreamTlsVerifyCas"),
  { key: "proto", refused: "the scheme of the url sets it: https://, http://, tcp:// or tls://" },
  { ...pathsRow("agent_tls_termination.server_certificate", "crt"), implies: ["terminateAt", "agent"] },
  pathsRow("agent_tls_termination.server_private_key", "key"),
  pathsRow("agent_tls_termination.mutual_tls_certificate_authorities", "mutualTlsCas"),
];

/**
 * Keys of the agent itself, by the names that the vendor's formats share: at the top in version 2, below `agent:` in 3.
 */
const ofVendorsAgent: readonly KeyRow[] = [
  { key: "authtoken", setting: "authtoken" },
  // Used by the commands that call the API.
  { key: "api_key", setting: "apiKey" },
  { key: "region", ignored: "the server's address sets the region" },
  { key: "connect_interface", refused: "the routes of the system choose the interface: remove it" },
  { key: "connect_timeout", setting: "connectTimeout" },
  { key: "console_ui", setting: "screen", texts: renameNames({ true: "auto", iftty: "auto", false: "off" }) },
  { key: "console_ui_color", allowed: ["transparent"], ignored: "the screen uses the terminal's background" },
  { key: "crl_noverify", allowed: ["true"], ignored: "the agent does not read revocation lists" },
  // A named revocation list is meant to protect the connection.
  { key: "crl_url", refused: "the agent does not read revocation lists: remove it" },
  { key: "dns_resolver_ips", setting: "dnsServer" },
  { key: "heartbeat_interval", setting: "heartbeatInterval" },
  { key: "heartbeat_tolerance", setting: "heartbeatTolerance" },
  { key: "inspect_db_size", setting: "inspectDbSize" },
  // Without this size, the inspector captures nothing.
  {
    key: "local_storage",
    setting: "inspectDbSize",
    texts: (node) =>
      node.value?.kind === "text" && node.value.text === "true" ? [] : renameNames({ false: "-1" })(node),
  },
  { key: "log_level", setting: "logLevel", texts: renameNames({ crit: "error" }) },
  { key: "log_format", setting: "logFormat", texts: renameNames({ logfmt: "text", term: "text" }) },
  { key: "log", setting: "log" },
  { key: "metadata", setting: "sessionMetadata" },
  { key: "proxy_url", setting: "proxy", ignored: "an empty text means no proxy", ignoredTexts: [""] },
  { key: "remote_management", setting: "remoteManagement" },
  { key: "update_channel", ignored: "the agent does not update itself" },
  { key: "update_check", allowed: ["false"], ignored: "the agent does not update itself" },
  { key: "web_addr", setting: "inspector", texts: renameNames({ false: "off" }) },
  { key: "web_allow_hosts", setting: "inspectorHost" },
];

const authoritiesRow = (key: string): KeyRow => ({
  key,
  setting: "ca",
  isPath: true,
  texts: (node) =>
    node.value?.kind === "text" && node.value.text === "trusted" ? [] : renameNames({ host: "system" })(node),
});
const addressRow = (key: string): KeyRow => ({ key, setting: "server" });

export const agentKeys = {
  /** Postern's own keys. */
  own: [
    ...ofVendorsAgent.filter(
      ({ setting, ignored, key }: KeyRow) =>
        (setting ?? ignored) !== undefined && !["metadata", "web_addr", "web_allow_hosts"].includes(key),
    ),
    { key: "inspector", setting: "inspector" },
    { key: "inspector_hosts", setting: "inspectorHost" },
    { key: "session_metadata", setting: "sessionMetadata" },
    { key: "give_up_after", setting: "giveUpAfter" },
    addressRow("server"),
    { key: "connections", setting: "connections" },
    { key: "ca", setting: "ca", isPath: true },
    { key: "data", setting: "data", isPath: true },
    { key: "otlp_endpoint", setting: "otlpEndpoint" },
    { key: "otlp_traces_endpoint", setting: "otlpTracesEndpoint" },
    { key: "otlp_headers", setting: "otlpHeaders" },
    { key: "otlp_protocol", setting: "otlpProtocol" },
    { key: "otlp_compression", setting: "otlpCompression" },
    { key: "otlp_timeout", setting: "otlpTimeout" },
    { key: "otlp_ca", setting: "otlpCa", isPath: true },
    { key: "otlp_service_name", setting: "otlpServiceName" },
    { key: "otlp_resource_attributes", setting: "otlpResourceAttributes" },
  ],
  2: [...ofVendorsAgent, authoritiesRow("root_cas"), addressRow("server_addr")],
  3: [
    ...ofVendorsAgent,
    authoritiesRow("connect_cas"),
    addressRow("connect_url"),
    { key: "root_cas", refused: "version 3 uses the name connect_cas instead" },
    { key: "server_addr", refused: "version 3 uses the name connect_url instead" },
  ],
} as const satisfies Record<string, readonly KeyRow[]>;

const keysOf = (rows: readonly KeyRow[]): ReadonlySet<string> => new Set(rows.map(({ key }) => key));

/** Keys that only one format has. They decide the format of a file without a version. */
export const ownOnly: ReadonlySet<string> = keysOf(agentKeys.own).difference(keysOf(agentKeys[2]));
export const vendorOnly: ReadonlySet<string> = keysOf(agentKeys[2]).difference(keysOf(agentKeys.own));
