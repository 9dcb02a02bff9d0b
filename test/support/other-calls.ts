/** Calls of operations that are about no resource, as `World.callFor` makes them for the others. */
import { errorCode } from "../../src/lib/errors.ts";
import type { Downward, Upward } from "../../src/routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../src/routing/planes/questions.ts";
import { resourceNamed } from "../../src/api/operation/declarations.ts";
import type { TestApi } from "./api.ts";
import type { World } from "./world.ts";

interface OtherCall {
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Where it is not the operation's: of what is always refused. */
  readonly status?: number;
  /** Whether an object of the account is named by the path. */
  readonly names?: boolean;
}

/** By the id of the operation. */
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
    getRequest: async () => ({ path: "/requests/req_1", names: true }),
    listConnections: async () => ({ path: "/connections" }),
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
    applyDocument: async () => ({ path: "/apply", body: document }),
    createConsoleLink: async () => ({ path: "/console_links" }),
    exportDocument: async () => ({ path: "/export" }),
  };
}

/** What an edge says to whatever it is asked; it knows one request and one connection, of the account `accountId`. */
export function edgeAnswers(accountId: () => string): (message: Downward) => Upward | undefined {
  return (message) => {
    if (message.type === "command") return { type: "command_result", call: message.call };
    if (message.type !== "question") return undefined;
    return { type: "answer", call: message.call, answer: answerTo(message.question, accountId()) };
  };
}

function answerTo(question: EdgeQuestion, accountId: string): EdgeAnswer {
  switch (question.name) {
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
    case "explain_request":
    case "explain_connection":
      return { name: "explanation", explanation };
  }
}

const trace = {
  id: "req_1",
  endedAt: 1_767_225_600_000,
  method: "GET",
  host: "a.example.com",
  path: "/",
  source: "192.0.2.1",
  siteId: "",
  routeId: undefined,
  tunnel: undefined,
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
