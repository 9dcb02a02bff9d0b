/** `/mcp`: the Model Context Protocol over Streamable HTTP, for programs with an API key or a person's access token. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Log } from "../../lib/log.ts";
import {
  clientOf,
  clientOfSession,
  nameOf,
  protocolVersions,
  sessionIdOf,
  unknownClient,
} from "../../mcp/mcp-client.ts";
import type { McpClient } from "../../mcp/mcp-client.ts";
import { keepPlans, planLimits } from "../../mcp/parts/kept-plans.ts";
import type { Notes } from "../../mcp/parts/kept-plans.ts";
import type { Tool, ToolContext } from "../../mcp/parts/tool.ts";
import { answerLimits, makeQuestions } from "../../mcp/person-questions.ts";
import { answerRequest, requestOf } from "../../mcp/service.ts";
import type { McpOptions, RpcRequest } from "../../mcp/service.ts";
import type { Key, KeyRing } from "../http/authenticate.ts";
import { readJsonBytes } from "../http/body.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { Front, FrontReply } from "../http/front.ts";
import type { RunInner } from "../http/inner-calls.ts";
import { methodRefusal } from "../http/request-checks.ts";
import { readHeader } from "../operation/call.ts";
import type { Reply } from "../operation/call.ts";
import type { Store } from "../../storage/store.ts";
import { makeShares } from "../operation/shares.ts";
import type { ApplicationTokens } from "../console/application-tokens.ts";
import { apiFor } from "./mcp-calls.ts";
import { checkScope, makeAuthenticate } from "./caller.ts";
import type { Caller } from "./caller.ts";
import { messagesIn } from "./mcp-messages.ts";
import { replyStreamed } from "./streamed.ts";
import { mcpPath, metadataPath, metadataReply, replyUnauthorized } from "./mcp-discovery.ts";

export interface McpEntranceOptions {
  readonly keys: KeyRing;
  /** Applications that people connected. Undefined if the console is off. */
  readonly applications: Pick<ApplicationTokens, "find"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly version?: string | undefined;
  readonly apiUrl?: string | undefined;
  /** Origins whose pages may call the API. */
  readonly apiOrigins: readonly string[];
  readonly store: Pick<Store, "node" | "refresh">;
}

export interface McpEntrance extends Pick<Front, "reply" | "stop"> {}

const message = { id: "mcp" } as const;

/** Maximum number of parallel tool calls per key. */
const maxCallsPerKey = 4;

export function openMcp(run: RunInner, options: McpEntranceOptions): McpEntrance {
  const { keys, applications, clock, log, version = "" } = options;
  const authenticate = makeAuthenticate(keys, applications);
  const { plans, questions, caughtUp } = overNodes(options);
  const calls = makeShares(maxCallsPerKey);

  const contextOf = (seen: Seen, tool: Tool, confirm: ToolContext["confirm"]): ToolContext => {
    const { exchange, caller, baseUrl, client, admit } = seen;
    const { principal } = caller.key;
    return {
      api: apiFor({ run, exchange, baseUrl, principal, mayChange: tool.changes === true, admit }),
      plans,
      keyId: caller.id,
      client: client.name,
      baseUrl,
      confirm,
      pause: (ms) => new Promise((resolve) => clock.after(ms, resolve)),
    };
  };
  const answerWith = (seen: Seen, request: RpcRequest, confirm: ToolContext["confirm"]): Promise<JsonObject> => {
    const mcp: McpOptions = {
      version,
      mayChange: seen.mayChange,
      contextFor: (tool) => contextOf(seen, tool, confirm),
      report: (error) => log.error("MCP tool failed", { error: error as Error }),
    };
    if (request.method !== "tools/call") return answerRequest(request, mcp);
    return calls.take(seen.caller.id, () => answerRequest(request, mcp));
  };
  const streamed = (seen: Seen, request: RpcRequest): Reply =>
    replyStreamed(questions, { ...seen, callerId: seen.caller.id }, request.id, (confirm) =>
      answerWith(seen, request, confirm),
    );

  const post = async (exchange: ApiExchange, baseUrl: string, admit: (key: Key) => void): Promise<Reply> => {
    const { request, response, expectsContinue } = exchange;
    await caughtUp();
    const caller = await authenticate(request);
    admit(caller.key);
    checkVersion(request);
    const found = sessionOf(request);
    const read = messagesIn(await readJsonBytes(message, request, response, expectsContinue), request);
    if ("error" in read) return { status: 400, body: JSON.stringify(read.error) };
    const requests: RpcRequest[] = [];
    for (const one of read.messages) {
      const asked = requestOf(one);
      if (asked) requests.push(asked);
      else await questions.answered(caller.id, one);
    }
    const answers: Reply[] = [];
    for (const asked of requests) {
      if (answers.length > 0) admit(caller.key);
      answers.push(await answer({ exchange, baseUrl, caller, found, asked, mayStream: !read.isBatch, admit }));
    }
    const [only] = answers;
    if (!only) return { status: 202 };
    return read.isBatch ? { status: 200, body: `[${answers.map(({ body }) => String(body)).join(",")}]` } : only;
  };
  const answer = async ({ exchange, baseUrl, caller, found, asked, mayStream, admit }: McpRequest): Promise<Reply> => {
    const { request } = exchange;
    const isFirst = asked.method === "initialize";
    const named = isFirst ? clientOf(asked.params) : found;
    const client = caller.application === undefined ? named : { ...named, name: nameOf(caller.application) };
    const isReadOnly = new URLSearchParams(request.url?.split("?")[1]).get("read_only") === "true";
    const mayChange = caller.mayChange && !isReadOnly;
    checkScope({ ...caller, mayChange }, asked);
    const seen: Seen = { exchange, caller, baseUrl, client, mayChange, admit: () => admit(caller.key) };
    const mayAsk = mayStream && asked.method === "tools/call" && client.asks && mayChange;
    if (mayAsk && /text\/event-stream/i.test(readHeader(request, "accept") ?? "")) return streamed(seen, asked);
    const last = await answerWith(seen, asked, async () => undefined);
    const session = isFirst ? { headers: ["mcp-session-id", sessionIdOf(client)] } : {};
    return { status: 200, body: JSON.stringify(last), ...session };
  };

  return {
    reply(exchange, path, baseUrl): FrontReply | undefined {
      const { request } = exchange;
      if (path === metadataPath || path === metadataPath + mcpPath) {
        return request.method === "GET"
          ? { run: async () => metadataReply(baseUrl, applications !== undefined) }
          : undefined;
      }
      if (path !== mcpPath) return undefined;
      checkOrigin(request, options);
      if (request.method !== "POST") throw methodRefusal(request, "POST");
      return {
        byKey: true,
        run: (admit) => post(exchange, baseUrl, admit),
        refused: (refusal) => replyUnauthorized(refusal, exchange, baseUrl, applications !== undefined),
      };
    },
    stop: () => questions.stop(),
  };
}

/** What consecutive requests of a client share, also if they arrive at different nodes. */
function overNodes({ store, clock, log }: McpEntranceOptions) {
  const { node } = store;
  const stored = node?.notes(planLimits);
  // Without the database, a plan can still be applied at this node, or with its document.
  const lenient: Notes | undefined = stored && {
    put: (...note) =>
      stored.put(...note).catch((error: unknown) => log.warn("MCP plan not shared with other nodes", { error })),
    find: (...note) =>
      stored.find(...note).catch((error: unknown) => void log.warn("MCP plans of other nodes not read", { error })),
  };
  const answers = node?.notes(answerLimits);
  const strict: Notes | undefined = answers && {
    put: (...note) =>
      answers.put(...note).catch((error: unknown) => {
        log.warn("answer of a person not shared with other nodes", { error });
        throw new Refusal("write_unavailable");
      }),
    find: answers.find,
  };
  return {
    plans: keepPlans(clock, lenient),
    questions: makeQuestions(clock, strict),
    /** Reads what other nodes have written: the client's request before, or the end of its access. */
    caughtUp: async (): Promise<unknown> => node?.isAlive() && (await store.refresh().catch(() => false)),
  };
}

/** One request of a message or batch. */
interface McpRequest extends Pick<Seen, "exchange" | "baseUrl" | "caller"> {
  /** What the session id says about the client. */
  readonly found: McpClient;
  readonly asked: RpcRequest;
  /** Whether the answer may be a stream with questions to the person. */
  readonly mayStream: boolean;
  admit(key: Key): void;
}

/** A request and its authenticated sender. */
interface Seen {
  readonly exchange: ApiExchange;
  readonly caller: Caller;
  readonly baseUrl: string;
  readonly client: McpClient;
  readonly mayChange: boolean;
  /** Counts a call for the key's rate limit. Throws `Refusal`. */
  admit(): void;
}

/** M3: pages of other origins cannot call, also not under a name that leads here (DNS rebinding). */
function checkOrigin({ headers: { origin } }: IncomingMessage, { apiOrigins, apiUrl }: McpEntranceOptions): void {
  if (origin === undefined || apiOrigins.includes(origin)) return;
  if (apiUrl !== undefined && URL.parse(apiUrl)?.origin === origin) return;
  throw new Refusal("mcp_origin_refused");
}

function checkVersion(request: IncomingMessage): void {
  const version = readHeader(request, "mcp-protocol-version");
  if (version === undefined || protocolVersions.some((one) => one === version)) return;
  const supported = protocolVersions.join(", ");
  throw new Refusal(
    "mcp_version_unsupported",
    `MCP version ${JSON.stringify(version.slice(0, 32))} is not supported; supported: ${supported}`,
  );
}

function sessionOf(request: IncomingMessage): McpClient {
  const id = readHeader(request, "mcp-session-id");
  if (id === undefined) return unknownClient;
  const client = clientOfSession(id);
  if (!client) throw new Refusal("mcp_session_unknown");
  return client;
}
