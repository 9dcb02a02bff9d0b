/** JSON-RPC calls of an exchange, as MCP makes them: also in batches, and answered in event streams. */
import { eventsIn } from "../lib/event-stream.ts";
import type { BodyCopy, InspectedExchange } from "./inspected-exchange.ts";
import { fieldOf } from "./contents.ts";
import { linesOf } from "./hidden-values.ts";

/** Calls of one exchange that are shown. */
const maxCalls = 50;
/** Characters of an argument or result as JSON that are shown. */
const maxShown = 20_000;

export interface RpcCall {
  /** `call` expects a result. An `answer` belongs to a call of another request, as in the older SSE transport. */
  readonly kind: "call" | "notification" | "answer";
  readonly from: "client" | "server";
  /** "" for an answer. */
  readonly method: string;
  /** Name of the tool or prompt, or address of the resource. */
  readonly name?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  /** Whether the result of a tool says that it failed. */
  readonly failed?: true;
  readonly answered: boolean;
}

type Json = Readonly<Record<string, unknown>>;

const known = new WeakMap<InspectedExchange, readonly RpcCall[]>();

/** Returns the calls in the order in which they were sent. Empty for other exchanges. */
export function rpcCallsOf(exchange: InspectedExchange): readonly RpcCall[] {
  const before = known.get(exchange);
  if (before) return before;
  const calls = readCalls(exchange);
  if (exchange.durationMs !== undefined) known.set(exchange, calls);
  return calls;
}

function readCalls({ method, head, body, response }: InspectedExchange): readonly RpcCall[] {
  const asked = method === "POST" ? messagesIn(head, body) : [];
  const answered = response ? messagesIn(response.head, response.body) : [];
  const ids = new Set(asked.map(({ id }) => id));
  const answers = new Map(answered.filter((one) => one["method"] === undefined).map((one) => [one["id"], one]));
  const sent = [
    ...asked.flatMap((one) => callOf(one, "client", answers.get(one["id"]))),
    ...answered.flatMap((one) =>
      ids.has(one["id"]) && one["method"] === undefined ? [] : callOf(one, "server", undefined),
    ),
  ];
  return sent.slice(0, maxCalls);
}

function callOf(message: Json, from: RpcCall["from"], answered: Json | undefined): RpcCall[] {
  const answer = message["method"] === undefined ? message : answered;
  const { method = "", id, params } = message;
  if (typeof method !== "string") return [];
  const kind = method === "" ? "answer" : id === undefined ? "notification" : "call";
  const name = nameIn(params);
  const shownParams = method === "tools/call" || method === "prompts/get" ? argumentsIn(params) : params;
  const error = answer?.["error"];
  const result = answer?.["result"];
  const failed = isObject(result) && result["isError"] === true;
  return [
    {
      kind,
      from,
      method,
      ...(name !== undefined && { name }),
      ...(shownParams !== undefined && { params: limitValue(shownParams) }),
      ...(result !== undefined && { result: limitValue(result) }),
      ...(isObject(error) && { error: { code: Number(error["code"]), message: textIn(error["message"]) } }),
      ...(failed && { failed }),
      answered: answer !== undefined,
    },
  ];
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

function nameIn(params: unknown): string | undefined {
  if (!isObject(params)) return undefined;
  const name = params["name"] ?? params["uri"];
  return typeof name === "string" ? name : undefined;
}

function argumentsIn(params: unknown): unknown {
  return isObject(params) ? params["arguments"] : undefined;
}

/** A long value is shown as the beginning of its text. */
function limitValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text.length <= maxShown ? value : `${text.slice(0, maxShown)}…`;
}

function messagesIn(head: Buffer, body: BodyCopy): readonly Json[] {
  const lines = linesOf(head, false);
  const type = fieldOf(lines, "content-type").toLowerCase();
  if (fieldOf(lines, "content-encoding") !== "") return [];
  const isStream = type.startsWith("text/event-stream");
  if (!isStream && !type.startsWith("application/json")) return [];
  const bytes = body.bytes();
  if (!bytes.includes('"jsonrpc"')) return [];
  const text = bytes.toString("utf8");
  return (isStream ? eventsIn(text).map(({ data }) => data) : [text]).flatMap(parseMessages);
}

function parseMessages(text: string): Json[] {
  try {
    const value: unknown = JSON.parse(text);
    const all: unknown[] = Array.isArray(value) ? value : [value];
    return all.filter((one): one is Json => isObject(one) && one["jsonrpc"] === "2.0");
  } catch {
    // The body is cut, or no JSON.
    return [];
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
