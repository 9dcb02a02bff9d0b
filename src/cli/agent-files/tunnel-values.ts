/**
 * Maps tunnel settings from flags and files to the protocol's members (agent-protocol, "Options of a tunnel"). The edge
 * applies each member like the module of a route.
 */
import { readFileSync } from "node:fs";
import { isPem } from "./row-reader.ts";
import type { tunnelSettings } from "../../settings/tunnels.ts";
import type { ValuesOf } from "../../settings/setting.ts";

/** Settings of a tunnel. Settings that its kind does not support are absent. */
export type TunnelValues = Partial<ValuesOf<typeof tunnelSettings>> & {
  /** The policy itself, if it is not in a separate file. */
  readonly trafficPolicy?: string | undefined;
  /** The SAML provider's metadata, if it is not in a separate file. */
  readonly samlMetadata?: string | undefined;
};

/** Names the setting with the invalid value. */
export class ValueError extends Error {
  readonly setting: string;

  constructor(setting: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.setting = setting;
  }
}

/** Reads the file that a setting names. Throws a `ValueError` that names the setting. */
export type ReadFile = (setting: string, path: string) => Buffer;

type Member = Readonly<Record<string, unknown>> | undefined;

const members: Readonly<Record<string, (values: TunnelValues, readFile: ReadFile) => Member>> = {
  BasicAuth: ({ basicAuth = [] }) =>
    ifAny(basicAuth, {
      credentials: basicAuth.map((one) => {
        const colon = one.indexOf(":");
        return { username: one.slice(0, colon), cleartext_password: one.slice(colon + 1) };
      }),
    }),
  OAuth: (values) =>
    values.oauth === undefined
      ? undefined
      : {
          provider: values.oauth,
          ...clientOf(values.oauthClientId, values.oauthClientSecret, values.oauthScope),
          ...allowedOf(values.oauthAllowEmail, values.oauthAllowDomain),
          ...machineClientsOf(values),
        },
  OIDC: (values) =>
    values.oidc === undefined
      ? undefined
      : {
          issuer_url: values.oidc,
          ...clientOf(values.oidcClientId, values.oidcClientSecret, values.oidcScope),
          ...allowedOf(values.oidcAllowEmail, values.oidcAllowDomain),
          ...machineClientsOf(values),
        },
  SAML: (values, readFile) => {
    const metadata = metadataOf(values, readFile);
    return metadata === undefined
      ? undefined
      : {
          ...metadata,
          ...machineClientsOf(values),
          ...omitUndefined({
            authorized_groups: values.samlGroup?.length ? values.samlGroup : undefined,
            nameid_format: values.samlNameidFormat,
            force_authn: values.samlForceAuthn,
            allow_idp_initiated: values.samlIdpInitiated,
          }),
        };
  },
  IPRestriction: ({ cidrAllow = [], cidrDeny = [] }) =>
    ifAny([...cidrAllow, ...cidrDeny], { allow_cidrs: cidrAllow, deny_cidrs: cidrDeny }),
  CountryRestriction: ({ allowCountry = [], denyCountry = [] }) =>
    ifAny([...allowCountry, ...denyCountry], { allow: allowCountry, deny: denyCountry }),
  WebhookVerification: ({ verifyWebhook, verifyWebhookSecret = "" }) =>
    verifyWebhook === undefined ? undefined : { provider: verifyWebhook, secret: verifyWebhookSecret },
  UserAgentFilter: ({ uaFilterAllow = [], uaFilterDeny = [] }) =>
    ifAny([...uaFilterAllow, ...uaFilterDeny], { allow: uaFilterAllow, deny: uaFilterDeny }),
  RequestHeaders: ({ requestHeaderAdd = [], requestHeaderRemove = [] }) =>
    ifAny([...requestHeaderAdd, ...requestHeaderRemove], { add: requestHeaderAdd, remove: requestHeaderRemove }),
  ResponseHeaders: ({ responseHeaderAdd = [], responseHeaderRemove = [] }) =>
    ifAny([...responseHeaderAdd, ...responseHeaderRemove], { add: responseHeaderAdd, remove: responseHeaderRemove }),
  Capture: ({ capture, captureSample, captureRedactHeader, captureRedactQuery }) =>
    capture === undefined
      ? undefined
      : {
          enabled: capture,
          ...omitUndefined({
            sample: captureSample,
            redact_headers: captureRedactHeader?.map((name) => name.toLowerCase()),
            redact_query: captureRedactQuery,
          }),
        },
  Compression: ({ compression }) => (compression ? {} : undefined),
  Forwarding: ({ upstreamTimeout = 0, encodedSlashes = false }) =>
    upstreamTimeout === 0 && !encodedSlashes
      ? undefined
      : { response_timeout: Math.ceil(upstreamTimeout / 1000), encoded_slashes: encodedSlashes },
  CircuitBreaker: ({ circuitBreaker }) =>
    circuitBreaker === undefined ? undefined : { error_threshold: circuitBreaker },
  MCP: ({ mcp, mcpStdio }) => (mcp || mcpStdio !== undefined ? {} : undefined),
  WebsocketTCPConverter: ({ websocketTcpConverter }) => (websocketTcpConverter ? {} : undefined),
};

function metadataOf({ saml, samlMetadata }: TunnelValues, readFile: ReadFile): Member {
  if (saml !== undefined && /^https?:/i.test(saml)) {
    return { idp_metadata_url: saml, ...omitUndefined({ idp_metadata: samlMetadata }) };
  }
  if (samlMetadata !== undefined) return { idp_metadata: samlMetadata };
  return saml === undefined ? undefined : { idp_metadata: readFile("saml", saml).toString("utf8") };
}

function omitUndefined(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function clientOf(id = "", secret = "", scopes: readonly string[] = []) {
  return { client_id: id, client_secret: secret, scopes };
}

/** MCP clients cannot follow a redirect to a login page. */
export function machineClientsOf({ mcp, mcpStdio, mcpRedirectUri = [] }: TunnelValues) {
  if (!mcp && mcpStdio === undefined) return {};
  return { machine_clients: { enabled: true, ...(mcpRedirectUri.length > 0 && { redirect_uris: mcpRedirectUri }) } };
}

function allowedOf(emails: readonly string[] = [], domains: readonly string[] = []) {
  return { allow_emails: emails, allow_domains: domains };
}

/** Returns the members for the values. Throws `ValueError` for an unreadable file. */
export function bindOptions(values: TunnelValues, readFile: ReadFile): Readonly<Record<string, unknown>> {
  const asked = Object.entries(members).flatMap(([name, make]) => {
    const member = make(values, readFile);
    return member === undefined ? [] : [[name, member] as const];
  });
  return { ...Object.fromEntries(asked), ...mutualTls(values, readFile), ...readTermination(values, readFile) };
}

/** If TLS is terminated for connections, client CAs have a separate member. */
function mutualTls({ mutualTlsCas = [], terminateAt, crt }: TunnelValues, readFile: ReadFile): Member {
  if (mutualTlsCas.length === 0 || terminateAt === "agent") return undefined;
  const pem = mutualTlsCas.map((one) => readPem("mutualTlsCas", one, readFile)).join("\n");
  const member = { mutual_tls_ca: Buffer.from(pem).toString("base64") };
  return terminateAt === undefined && crt === undefined ? { MutualTLSCA: member } : { MutualTLSAtEdge: member };
}

function readTermination({ terminateAt, crt, key }: TunnelValues, readFile: ReadFile): Member {
  if (terminateAt === "agent" || terminateAt === "upstream") return undefined;
  if (crt === undefined || key === undefined) return terminateAt === "edge" ? { TLSTermination: {} } : undefined;
  return { TLSTermination: { cert: base64Of("crt", crt, readFile), key: base64Of("key", key, readFile) } };
}

function base64Of(setting: string, text: string, readFile: ReadFile): string {
  return Buffer.from(readPem(setting, text, readFile)).toString("base64");
}

/** Returns PEM unchanged, or reads it from the file that `text` names. */
export function readPem(setting: string, text: string, readFile: ReadFile): string {
  return isPem(text) ? text : readFile(setting, text).toString("utf8");
}

/** For values from flags and agent files: the person who wrote them may read the agent's files. */
export const readAnyFile: ReadFile = (setting, path) => {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    // A key in a format other than PEM is not a file name.
    const what = setting === "key" ? "it as PEM, or a file of that name" : `"${path}"`;
    throw new ValueError(setting, `cannot read ${what}: ${why}`, { cause: error });
  }
};

/** G11: for values from the local API: a caller must not read files with the agent's rights. */
export const readNoFile: ReadFile = (setting) => {
  throw new ValueError(setting, namesFile);
};

export const startsCommand = "starts a command: write the tunnel to an agent file, and start it from that file";

export const namesFile = "names a file: write the tunnel to an agent file, and start it from that file";

function ifAny(list: readonly unknown[], member: Member): Member {
  return list.length > 0 ? member : undefined;
}
