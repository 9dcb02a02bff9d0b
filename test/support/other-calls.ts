/** Calls of operations without a resource. `World.callFor` makes the calls for all other operations. */
import { packWebhooks } from "../../src/edge/http/inbox-line.ts";
import { errorCode } from "../../src/lib/errors.ts";
import type { Downward, Upward } from "../../src/routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../src/routing/planes/edge-questions.ts";
import { resourceNamed } from "../../src/api/operation/resource-declarations.ts";
import { newId } from "../../src/lib/ids.ts";
import type { ReceivedWebhook } from "../../src/traffic/stored-request.ts";
import type { TestApi } from "./api.ts";
import { eventually } from "./eventually.ts";
import type { World } from "./world.ts";

interface OtherCall {
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Status of the response, if it differs from the operation's: for calls that are always rejected. */
  readonly status?: number;
  /** Whether the path names an object of the account. */
  readonly names?: boolean;
}

/** Returns the calls by the ID of the operation. */
export function otherCalls(api: TestApi, world: World): Readonly<Record<string, () => Promise<OtherCall>>> {
  const collection = async (kind: string): Promise<string> => {
    const id = await world.foreign(kind, api.apiKey);
    return `${resourceNamed(kind).path}/${id}`;
  };
  const sources = async (): Promise<string> => `${await collection("event_subscription")}/sources`;
  const source = async (): Promise<OtherCall> => {
    const path = await sources();
    await api.ok("POST", path, { type: "ip_policy_created.v0" });
    return { path: `${path}/ip_policy_created.v0`, names: true };
  };
  const document = { objects: { ip_policy: { office: { description: "d" } } } };
  const revision = async (): Promise<string> => {
    const { headers } = await api.request("POST", "/ip_policies", { body: {} });
    return `/revisions/${headers["postern-revision"]}`;
  };
  const hosted = async (kind: "https" | "tls" | "tcp"): Promise<OtherCall> => {
    const { id } = await api.ok("POST", `/edges/${kind}`, {});
    return {
      path: `/edges/${kind}/${id}/explain`,
      body: kind === "https" ? { host: "a.example.com" } : {},
      names: true,
    };
  };
  /** Creates a request whose agent is connected. */
  const served = async (): Promise<string> => {
    const accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id as string;
    const [credentialId, startedAt, transport] = ["cr_x", "2026-01-01T00:00:00Z", "ngrok/2"];
    const said = { agentVersion: "1", ip: "192.0.2.1", os: "linux", metadata: "", region: "local" };
    const session = { id: servingTunnel.sessionId, accountId, credentialId, startedAt, transport, ...said };
    api.edge.send({ type: "session_opened", session });
    return "/requests/req_1";
  };
  /** Stores a webhook of a route in its inbox. */
  const message = async (): Promise<string> => {
    const accountId = (await api.ok("GET", "/accounts")).accounts.at(-1).id as string;
    const id = newId("inbox", Date.now());
    const routeId = await world.foreign("https_edge_route", api.apiKey);
    const sent = [{ message: webhook(id, accountId, routeId), body: new Uint8Array(2) }];
    api.edge.send({ type: "inbox_messages", call: 1, ...packWebhooks(sent) });
    await eventually(
      () => api.ok("GET", "/inbox_messages"),
      (page) => page.inbox_messages.some((one: { readonly id: string }) => one.id === id),
    );
    return `/inbox_messages/${id}`;
  };
  const backtest = async (): Promise<OtherCall> => {
    const { id } = await api.ok("POST", "/backtests", { document });
    return { path: `/backtests/${id}`, names: true };
  };
  return {
    createEndpoint: async () => ({ path: "/endpoints", status: 400 }),
    updateEndpoint: async () => ({ path: await collection("endpoint"), status: 409, names: true }),
    deleteEndpoint: async () => ({ path: await collection("endpoint"), status: 409, names: true }),
    createEventSource: async () => ({ path: await sources(), body: { type: "vault_created.v0" }, names: true }),
    listEventSources: async () => ({ path: await sources(), names: true }),
    getEventSource: source,
    updateEventSource: source,
    deleteEventSource: source,
    listRevisions: async () => ({ path: "/revisions" }),
    getRevision: async () => ({ path: await revision(), names: true }),
    rollbackToRevision: async () => ({ path: `${await revision()}/rollback` }),
    listRequests: async () => ({ path: "/requests" }),
    exportRequests: async () => ({ path: "/requests/export" }),
    getRequest: async () => ({ path: "/requests/req_1", names: true }),
    getRequestExchange: async () => ({ path: `${await served()}/exchange`, names: true }),
    replayRequest: async () => ({ path: `${await served()}/replay`, names: true }),
    listInboxes: async () => ({ path: "/inboxes" }),
    pauseInbox: async () => ({
      path: `/inboxes/${await world.foreign("https_edge_route", api.apiKey)}/pause`,
      names: true,
    }),
    resumeInbox: async () => ({
      path: `/inboxes/${await world.foreign("https_edge_route", api.apiKey)}/resume`,
      names: true,
    }),
    listInboxMessages: async () => ({ path: "/inbox_messages" }),
    getInboxMessage: async () => ({ path: await message(), names: true }),
    getInboxMessagePayload: async () => ({ path: `${await message()}/payload`, names: true }),
    deliverInboxMessages: async () => ({ path: "/inbox_messages/deliver" }),
    discardInboxMessages: async () => ({ path: "/inbox_messages/discard" }),
    deliverInboxMessage: async () => ({ path: `${await message()}/deliver`, names: true }),
    discardInboxMessage: async () => ({ path: `${await message()}/discard`, names: true }),
    listConnections: async () => ({ path: "/connections" }),
    getMetricsSeries: async () => ({ path: "/metrics_series" }),
    listProblems: async () => ({ path: "/problems" }),
    getConnection: async () => ({ path: "/connections/con_1", names: true }),
    explainHTTPSEdge: () => hosted("https"),
    explainTLSEdge: () => hosted("tls"),
    explainTCPEdge: () => hosted("tcp"),
    explainEndpoint: async () => ({ path: `${await collection("endpoint")}/explain`, body: {}, names: true }),
    testIPPolicy: async () => ({
      path: `${await collection("ip_policy")}/test`,
      body: { source_ip: "192.0.2.1" },
      names: true,
    }),
    testCredential: async () => ({
      path: `${await collection("credential")}/test`,
      body: { bind: "a.example.com" },
      names: true,
    }),
    testAPIKey: async () => ({
      path: `${await collection("api_key")}/test`,
      body: { operation: "createIPPolicy" },
      names: true,
    }),
    signWebhook: async () => ({
      path: "/webhooks/sign",
      body: { provider: "github", secret: "s3cret", url: "https://hooks.example.com/" },
    }),
    listReferences: async () => ({
      path: `/references/${await world.foreign("ip_policy", api.apiKey)}`,
      names: true,
    }),
    getLoginAddresses: async () => ({ path: "/login_addresses" }),
    listDeliveredEvents: async () => ({ path: `${await collection("event_destination")}/events`, names: true }),
    getPolicyLanguage: async () => ({ path: "/policies/language" }),
    checkPolicy: async () => ({ path: "/policies/check", body: { policy: "on_http_request: []" } }),
    planDocument: async () => ({ path: "/plan", body: document }),
    createBacktest: async () => ({ path: "/backtests", body: { document } }),
    getBacktest: backtest,
    deleteBacktest: backtest,
    applyDocument: async () => ({ path: "/apply", body: document }),
    createConsoleLink: async () => ({ path: "/console_links" }),
    exportDocument: async () => ({ path: "/export" }),
  };
}

function webhook(id: string, accountId: string, routeId: string): ReceivedWebhook {
  const request = {
    method: "POST",
    target: "/hooks",
    scheme: "https",
    host: "hooks.example.com",
    headers: [["x-github-event", "push"]],
    source: "192.0.2.1",
    sourcePort: 1,
    localPort: 443,
    receivedAt: 0,
  } as const;
  const facts = { requestId: "req_1", path: "/hooks", provider: "github", eventType: "push", key: "", keyMs: 0 };
  return { id, accountId, routeId, request, ...facts };
}

/** An edge's message about an agent with a heartbeat. */
export const sessionPulse = JSON.stringify({ latencyMs: 1.5, heardAt: 0 });

/**
 * Returns an edge's responses to all questions. The edge knows one request and one connection, of the account
 * `accountId`.
 */
export function edgeAnswers(accountId: () => string): (message: Downward) => Upward | undefined {
  return (message) => {
    if (message.type === "command") {
      const text = message.command.name === "pulse" ? sessionPulse : keptExchange;
      return { type: "command_result", call: message.call, text };
    }
    if (message.type !== "question") return undefined;
    return { type: "answer", call: message.call, answer: answerTo(message.question, accountId()) };
  };
}

function answerTo(question: EdgeQuestion, accountId: string): EdgeAnswer {
  switch (question.name) {
    case "standing":
      return { name: "standing", standing: "member" };
    case "series":
      return { name: "series", nodeId: "", steps: [] };
    case "reached":
      return { name: "reached", isReached: true };
    case "request":
    case "requests": {
      const requests = question.accountId === accountId ? [trace] : [];
      return { name: "requests", requests, more: false };
    }
    case "connection":
    case "connections": {
      const connections = question.accountId === accountId ? [connection] : [];
      return { name: "connections", connections, more: false };
    }
    case "agent_endpoints":
      return { name: "agent_endpoints", endpoints: [] };
    case "captured_blocks":
      return { name: "unknown" };
    case "explain_request":
    case "explain_connection":
      return { name: "explanation", explanation };
  }
}

export const servingTunnel = {
  id: `tn_${"a".repeat(27)}`,
  sessionId: `ts_${"a".repeat(27)}`,
  forwardsTo: "localhost:80",
};
const body = { base64: "b2s=", bytes: 2, cut: false, ended: true };

/** The exchange that an agent returns for every question. */
export const keptExchange = JSON.stringify({
  exchange: {
    id: "548fb5c700000002",
    replay_of: null,
    started_at: 1_767_225_600_000,
    outcome: "complete",
    duration_ms: 1.5,
    connected_ms: null,
    first_byte_ms: 1,
    edge_ms: null,
    wait_ms: null,
    request: { method: "GET", target: "/", protocol: "HTTP/1.1", fields: [["Host", "a.example.com"]], body },
    response: { status: 200, protocol: "HTTP/1.1", fields: [["X-Kind", "kept"]], trailers: [], body },
  },
  replays: [{ id: "548fb5c700000003", started_at: 1_767_225_600_000, status: null }],
});

const trace = {
  id: "req_1",
  endedAt: 1_767_225_600_000,
  method: "GET",
  host: "a.example.com",
  path: "/",
  source: "192.0.2.1",
  siteId: "",
  routeId: undefined,
  tunnel: servingTunnel,
  outcome: "forwarded",
  status: 200,
  errorCode: undefined,
  durationMs: 1,
  upstreamMs: 0.5,
  bytesIn: 0,
  bytesOut: 2,
  cutShort: false,
  steps: [],
} as const;

const connection = {
  id: "con_1",
  endedAt: 1_767_225_600_000,
  protocol: "tcp",
  serverName: undefined,
  port: undefined,
  source: "192.0.2.1",
  siteId: "",
  outcome: "denied",
  errorCode: undefined,
  durationMs: 0,
  bytesIn: 0,
  bytesOut: 0,
  steps: [],
} as const;

const explanation = {
  revision: 1,
  edge: undefined,
  route: undefined,
  near: [],
  steps: [],
  outcome: "answered",
  status: 404,
  errorCode: errorCode("unknown_host"),
  backend: undefined,
  tunnel: undefined,
  address: undefined,
  requestHeaders: [],
  response: undefined,
} as const;
