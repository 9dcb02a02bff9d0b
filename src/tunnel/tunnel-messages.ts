/**
 * Parses requests of agents, and writes responses in the exact spellings that SDKs expect (agent-protocol, "Streams").
 */
import { Refusal } from "../lib/errors.ts";
import { hashJoinSecret } from "../lib/join-code.ts";
import { requireSupported, requireKnown, isBoundTo } from "./bind-fields.ts";
import { readPlace, readUrl } from "./bind-place.ts";
import { countMember, readMember, objectMember, textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import type { BindRequest, InboxRequest, LabelRequest, TunnelChange } from "./server-hooks.ts";

/** Field limits of the API, bytes. */
const maxMetadata = 4096;
const maxText = 4096;
const maxName = 255;
const maxLabels = 32;
/** Maximum size of a traffic policy, with room for an error message about a longer one, bytes. */
const maxPolicy = 131_072;

/** Implementation of the peer, because implementations need different treatment. */
export type AgentKind = "rust" | "go" | "postern";

export interface AuthMessage {
  /** Version 3 supports StopTunnel. */
  readonly version: "2" | "3";
  readonly clientId: string;
  readonly token: string;
  readonly cookie: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  readonly kind: AgentKind;
  /** 0 if the agent sends no heartbeat. */
  readonly heartbeatIntervalMs: number;
  readonly heartbeatToleranceMs: number;
  /** "" if the agent supports the command, else the reason why not. */
  readonly unsupported: Readonly<Record<"stop" | "restart" | "update", string>>;
  /** Maximum window that the agent supports, bytes; 0 for a fixed window. */
  readonly maxWindow: number;
  /** Above 0 for additional connections of one client. */
  readonly leg: number;
  /** Whether it returns captured requests. */
  readonly keepsExchanges: boolean;
  /** The same for all sessions of one Postern agent, which share its tunnels; "" for a single session. */
  readonly agentId: string;
}

/** Ids that agents generate: 128 bits. */
const agentIdShape = /^[0-9a-f]{32}$/;

const tooOld = "The agent is too old for this command.";

export function parseAuth(message: JsonObject): AuthMessage {
  const extra = objectMember(message, "Extra");
  const offered = readMember(message, "Version");
  const versions: readonly unknown[] = Array.isArray(offered) ? offered : [offered];
  const version = (["3", "2"] as const).find((one) => versions.includes(one));
  if (!version)
    throw new Refusal("agent_request_invalid", "The agent supports no protocol version of this server (2, 3).");
  const userAgent = textMember(extra, "UserAgent", maxText);
  const maxWindow = countMember(extra, "MuxWindow");
  const agentId = textMember(extra, "AgentID", maxName);
  const kind =
    maxWindow > 0 ? "postern" : /ngrok-go\//.test(userAgent) && !/ngrok-rust\//.test(userAgent) ? "go" : "rust";
  const unsupported = (name: string): string => {
    const value = readMember(extra, name);
    return value === undefined || value === null ? tooOld : textMember(extra, name, maxText);
  };
  return {
    version,
    clientId: textMember(message, "ClientId", maxName),
    token: textMember(extra, "AuthToken", maxText),
    cookie: textMember(extra, "Cookie", maxText),
    agentVersion: textMember(extra, "Version", maxName) || userAgent.slice(0, maxName),
    os: textMember(extra, "OS", maxName),
    metadata: textMember(extra, "Metadata", maxMetadata),
    kind,
    heartbeatIntervalMs: countMember(extra, "HeartbeatInterval") / 1e6,
    heartbeatToleranceMs: countMember(extra, "HeartbeatTolerance") / 1e6,
    unsupported: {
      stop: unsupported("StopUnsupportedError"),
      restart: unsupported("RestartUnsupportedError"),
      update: unsupported("UpdateUnsupportedError"),
    },
    maxWindow,
    keepsExchanges: kind === "postern" && readMember(extra, "Exchanges") === true,
    leg: countMember(extra, "LegNumber"),
    agentId: agentIdShape.test(agentId) ? agentId : "",
  };
}

export interface JoinMessage {
  /** SHA-256 of the code's secret, hexadecimal. */
  readonly secretHash: string;
  /** Name of the agent's machine. */
  readonly name: string;
}

/** Only the hash of the secret is passed on. */
export function parseJoin(message: JsonObject): JoinMessage {
  const secret = Buffer.from(textMember(message, "Secret", maxName), "base64url");
  return { secretHash: hashJoinSecret(secret), name: textMember(message, "Name", maxName) };
}

const inboxVerbs = ["open", "waiting", "hold", "release"] as const;
const maxInboxWebhooks = 50;

/** Throws `Refusal` (agent_request_invalid). */
export function parseInboxRequest(message: JsonObject): Omit<InboxRequest, "ip"> {
  const given = textMember(message, "Verb", maxName);
  const verb = inboxVerbs.find((one) => one === given);
  if (!verb) throw new Refusal("agent_request_invalid", `use an inbox: the server does not know "${given}"`);
  const webhooks = readMember(message, "Webhooks") ?? [];
  if (!Array.isArray(webhooks) || webhooks.length > maxInboxWebhooks) {
    throw new Refusal("agent_request_invalid", `open an inbox: at most ${maxInboxWebhooks} webhooks are possible`);
  }
  const { hostname, port } = readUrl(textMember(message, "URL", maxText), "https");
  return {
    token: textMember(message, "Token", maxText),
    verb,
    hostname,
    port,
    name: textMember(message, "Name", maxText),
    webhooks: webhooks.map((one: unknown) => {
      const webhook = typeof one === "object" && one !== null ? (one as JsonObject) : {};
      return {
        path: textMember(webhook, "Path", maxText),
        provider: textMember(webhook, "Provider", maxName),
        secret: textMember(webhook, "Secret", maxText),
      };
    }),
  };
}

export interface BindMessage extends BindRequest {
  /** Proves ownership of `id` after a reconnect. */
  readonly token: string;
}

const protos = ["http", "https", "tcp", "tls"] as const;

export function parseBind(message: JsonObject): BindMessage {
  const wanted = textMember(message, "Proto", 32);
  const proto = protos.find((one) => one === wanted);
  if (!proto) throw new Refusal("agent_option_unsupported", `The protocol "${wanted}" is not supported here.`);
  const options = objectMember(message, "Opts");
  const extra = objectMember(message, "Extra");
  requireKnown(message, "bind");
  requireSupported(extra);
  return {
    id: textMember(message, "Id", maxName),
    token: textMember(extra, "Token", maxText),
    proto,
    ...readPlace(options, proto),
    forwardsTo: textMember(message, "ForwardsTo", maxText),
    forwardsProto: parseForwardsProto(message),
    name: textMember(extra, "Name", maxName),
    description: textMember(extra, "Description", maxName),
    metadata: textMember(extra, "Metadata", maxMetadata),
    proxyProtocol: parseProxyProtocol(options),
    isInternal: isBoundTo(extra, "internal"),
    isPublic: isBoundTo(extra, "public"),
    pools: readMember(extra, "PoolingEnabled") === true,
    ...(readMember(extra, "RequestTimes") === true && { wantsTimes: true }),
    options,
  };
}

export function parseLabelled(message: JsonObject): LabelRequest {
  requireKnown(message, "labelled");
  const given = Object.entries(objectMember(message, "Labels"));
  if (given.length === 0 || given.length > maxLabels) {
    throw new Refusal("labels_invalid", `${given.length} labels were given, but 1 to ${maxLabels} are allowed.`);
  }
  const labels: [string, string][] = given.map(([name, value]) => {
    if (typeof value !== "string" || name === "" || value === "" || name.includes("=")) {
      throw new Refusal("labels_invalid");
    }
    if (Buffer.byteLength(name) > maxName || Buffer.byteLength(value) > maxName) {
      throw new Refusal("labels_invalid", `A label's name or value is longer than ${maxName} bytes.`);
    }
    return [name, value];
  });
  return {
    labels: Object.fromEntries(labels),
    forwardsTo: textMember(message, "ForwardsTo", maxText),
    forwardsProto: parseForwardsProto(message),
    metadata: textMember(message, "Metadata", maxMetadata),
    proxyProtocol: parseProxyProtocol(message),
    ...(readMember(message, "RequestTimes") === true && { wantsTimes: true }),
  };
}

export function parsePatch(message: JsonObject): { readonly id: string; readonly change: TunnelChange } {
  requireKnown(message, "patch");
  const given = (name: string): boolean => (readMember(message, name) ?? undefined) !== undefined;
  const pools = readMember(message, "PoolingEnabled");
  if (given("PoolingEnabled") && typeof pools !== "boolean") {
    throw new Refusal("agent_request_invalid", 'change a tunnel: "PoolingEnabled" must be true or false');
  }
  return {
    id: textMember(message, "TunnelId", maxName),
    change: {
      ...(given("Name") && { name: textMember(message, "Name", maxName) }),
      ...(given("Description") && { description: textMember(message, "Description", maxName) }),
      ...(given("Metadata") && { metadata: textMember(message, "Metadata", maxMetadata) }),
      ...(given("TrafficPolicy") && { trafficPolicy: textMember(message, "TrafficPolicy", maxPolicy) }),
      ...(typeof pools === "boolean" && { pools }),
    },
  };
}

export interface AuthAnswer {
  readonly version: string;
  readonly clientId: string;
  readonly serverVersion: string;
  readonly region: string;
  readonly cookie: string;
  readonly accountName: string;
  readonly sessionId: string;
  /** 0 is omitted. */
  readonly maxWindow: number;
  /** Number of the server's edges, for agents that can have a session at each; 1 is omitted. */
  readonly edges: number;
  /** Edge that responds. */
  readonly edgeId: string;
  /** Number of the server's nodes, for the same agents; 0 for a server without a cluster, which is omitted. */
  readonly nodes: number;
  /** Node that responds. */
  readonly nodeId: string;
  /** The server's wall clock, milliseconds since 1970, for agents that compare clocks; 0 is omitted. */
  readonly time: number;
  /** Whether the server reports request times to tunnels that request them. */
  readonly tellsTimes: boolean;
}

export function renderAuth(answer: AuthAnswer): JsonObject {
  return {
    Version: answer.version,
    ClientId: answer.clientId,
    Error: "",
    Extra: {
      Version: answer.serverVersion,
      Region: answer.region,
      Cookie: answer.cookie,
      AccountName: answer.accountName,
      SessionDuration: 0,
      PlanName: "",
      Banner: "",
      AgentSessionID: answer.sessionId,
      ...(answer.maxWindow > 0 ? { MuxWindow: answer.maxWindow } : {}),
      ...(answer.edges > 1 ? { Edges: answer.edges, Edge: answer.edgeId } : {}),
      ...(answer.nodes > 0 ? { Nodes: answer.nodes, Node: answer.nodeId } : {}),
      ...(answer.time > 0 ? { Time: answer.time } : {}),
      ...(answer.tellsTimes ? { RequestTimes: true } : {}),
    },
  };
}

export function renderRefusedAuth(error: string): JsonObject {
  return { Version: "", ClientId: "", Error: error, Extra: {} };
}

export function renderBound(id: string, url: string, proto: string, options: JsonObject, token: string): JsonObject {
  return { Id: id, URL: url, Proto: proto, Opts: options, Error: "", Extra: { Token: token, TunnelID: id } };
}

export function renderRefusedBind(error: string): JsonObject {
  return { Id: "", URL: "", Proto: "", Opts: {}, Error: error, Extra: { Token: "" } };
}

function parseProxyProtocol(holder: JsonObject): 0 | 1 | 2 {
  const version = countMember(holder, "ProxyProto");
  if (version === 0 || version === 1 || version === 2) return version;
  throw new Refusal("agent_option_unsupported", `PROXY protocol version ${version} is not supported here.`);
}

function parseForwardsProto(message: JsonObject): "" | "http1" | "http2" {
  const value = textMember(message, "ForwardsProto", 32);
  if (value === "" || value === "http1" || value === "http2") return value;
  throw new Refusal("agent_option_unsupported", `forward "${value}" to the service: "http1" and "http2" are known`);
}
