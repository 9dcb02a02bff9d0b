/** Routes of the local API, by method and path. */
import type { AgentControl } from "./agent-control.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import type { InspectedTunnel, Inspector } from "./inspector.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { renderEndpoint, renderExchange, renderTunnel } from "./render-tunnel.ts";
import type { ReplayEdits } from "./outgoing-request.ts";
import { rpcCallsOf } from "./json-rpc.ts";
import { replayExchange } from "./replay.ts";
import { makeTextSearch } from "./text-search.ts";

/** The data behind the answers. */
export interface LocalSubject {
  readonly inspector: Inspector;
  /** The agent's session in the format of `GET /api/status`. */
  readonly status: () => object;
  /** Undefined until the agent has started. */
  readonly control: () => AgentControl | undefined;
}

export interface LocalCall {
  readonly query: URLSearchParams;
  /** The last path segment, if the route has a parameter. */
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface LocalReply {
  readonly status: number;
  readonly body?: object;
  readonly location?: string;
}

type Handler = (subject: LocalSubject, call: LocalCall) => LocalReply | Promise<LocalReply>;

const usualLimit = 100;

/** Method and path. `:` stands for one segment. */
export const routes: Readonly<Record<string, Handler>> = {
  "GET /api": () =>
    answerOk({
      uri: "/api",
      links: {
        status: "/api/status",
        tunnels: "/api/tunnels",
        endpoints: "/api/endpoints",
        requests: "/api/requests/http",
      },
    }),
  "GET /api/status": ({ status }) => answerOk({ uri: "/api/status", ...status() }),
  "GET /api/tunnels": ({ inspector }) =>
    answerOk({ tunnels: [...inspector.tunnels.values()].map(renderTunnel), uri: "/api/tunnels" }),
  "GET /api/tunnels/:": ({ inspector }, { name }) => answerOk(renderTunnel(tunnelNamed(inspector, name))),
  "POST /api/tunnels": async (subject, { body }) =>
    answerCreated(renderTunnel(tunnelNamed(subject.inspector, await controlOf(subject).start(body, "tunnel")))),
  "DELETE /api/tunnels/:": stopTunnel,
  "GET /api/endpoints": ({ inspector }) =>
    answerOk({ endpoints: [...inspector.tunnels.values()].map(renderEndpoint), uri: "/api/endpoints" }),
  "GET /api/endpoints/:": ({ inspector }, { name }) => answerOk(renderEndpoint(tunnelNamed(inspector, name))),
  "POST /api/endpoints": async (subject, { body }) =>
    answerCreated(renderEndpoint(tunnelNamed(subject.inspector, await controlOf(subject).start(body, "endpoint")))),
  "PUT /api/tunnels/:": async (subject, { name, body }) =>
    changeTunnel(renderTunnel, subject, await controlOf(subject).replace(name, body, "tunnel"), name),
  "PUT /api/endpoints/:": async (subject, { name, body }) =>
    changeTunnel(renderEndpoint, subject, await controlOf(subject).replace(name, body, "endpoint"), name),
  "DELETE /api/endpoints/:": stopTunnel,
  "POST /api/stop": (subject) => {
    controlOf(subject).end();
    return { status: 204 };
  },
  "GET /api/requests/http": ({ inspector }, { query }) => {
    const options = { reveals: isSet(query, "reveal"), isBrief: isSet(query, "brief"), times: inspector.times };
    const found = inspector.store.list(limitOf(query), filterOf(query));
    return answerOk({ uri: "/api/requests/http", requests: found.map((one) => renderExchange(one, options)) });
  },
  "GET /api/requests/http/:": ({ inspector }, { name, query }) =>
    answerOk(renderExchange(exchangeOf(inspector, name), { reveals: isSet(query, "reveal"), times: inspector.times })),
  "POST /api/requests/http": async ({ inspector }, { body }) => {
    const given = exchangeOf(inspector, textOf(body, "id") ?? "");
    const tunnel = tunnelNamed(inspector, textOf(body, "tunnel_name") ?? given.tunnel);
    const sent = await replayExchange(inspector, given, tunnel, editsOf(body));
    return { status: 204, location: `/api/requests/http/${sent.id}` };
  },
  "DELETE /api/requests/http": ({ inspector }) => {
    inspector.store.clear();
    return { status: 204 };
  },
};

async function stopTunnel(subject: LocalSubject, { name }: LocalCall): Promise<LocalReply> {
  if (!(await controlOf(subject).stop(name))) throw unknownTunnel();
  return { status: 204 };
}

function controlOf({ control }: LocalSubject): AgentControl {
  const agentControl = control();
  if (!agentControl) throw new LocalRefusal("local_not_ready", "the agent is stopping");
  return agentControl;
}

function changeTunnel(
  render: (tunnel: InspectedTunnel) => object,
  { inspector }: LocalSubject,
  wasThere: boolean,
  name: string,
): LocalReply {
  return { status: wasThere ? 200 : 201, body: render(tunnelNamed(inspector, name)) };
}

function answerCreated(body: object): LocalReply {
  return { status: 201, body };
}

function answerOk(body: object): LocalReply {
  return { status: 200, body };
}

function tunnelNamed({ tunnels }: Inspector, name: string) {
  const found = tunnels.get(name);
  if (!found) throw unknownTunnel();
  return found;
}

function unknownTunnel(): LocalRefusal {
  return new LocalRefusal("local_not_found", "no tunnel has this name");
}

function exchangeOf({ store }: Inspector, id: string) {
  const found = store.get(id);
  if (!found) throw new LocalRefusal("local_not_found", "no captured request has this id; old requests are deleted");
  return found;
}

function limitOf(query: URLSearchParams): number {
  const given = query.get("limit") ?? String(usualLimit);
  if (!/^\d{1,6}$/.test(given)) throw new LocalRefusal("local_call_invalid", "limit must be a number");
  return Number(given);
}

function isSet(query: URLSearchParams, name: string): boolean {
  return query.get(name) === "true";
}

/** Filters by `tunnel_name`, by `rpc_method` and `rpc_name` of JSON-RPC calls, and by `text` in heads and captured bodies. Credentials are not searched. */
function filterOf(query: URLSearchParams): (exchange: InspectedExchange) => boolean {
  const tunnel = query.get("tunnel_name");
  const text = query.get("text");
  const hasText = text === null ? () => true : makeTextSearch(text);
  const [method, name] = [query.get("rpc_method"), query.get("rpc_name")];
  const hasCall = (exchange: InspectedExchange): boolean =>
    (method === null && name === null) ||
    rpcCallsOf(exchange).some((call) => call.method === (method ?? call.method) && call.name === (name ?? call.name));
  return (exchange) => (tunnel === null || exchange.tunnel === tunnel) && hasCall(exchange) && hasText(exchange);
}

function textOf(body: LocalCall["body"], name: string): string | undefined {
  const value = body[name];
  if (value === undefined || typeof value === "string") return value;
  throw new LocalRefusal("local_call_invalid", `${name} must be a text`);
}

/** Parses `method`, `uri`, `headers`, `body` (base64) and `sign`. Throws `LocalRefusal`. */
function editsOf(body: LocalCall["body"]): ReplayEdits {
  const { method, uri, raw } = { method: textOf(body, "method"), uri: textOf(body, "uri"), raw: textOf(body, "body") };
  const { headers, sign } = body;
  if (sign !== undefined && typeof sign !== "boolean") {
    throw new LocalRefusal("local_call_invalid", "sign must be true or false");
  }
  if (headers !== undefined && !isHeaders(headers)) {
    throw new LocalRefusal("local_call_invalid", "headers must be an object with a list of texts for each name");
  }
  return {
    ...(method !== undefined && { method }),
    ...(uri !== undefined && { uri }),
    ...(headers !== undefined && { headers }),
    ...(raw !== undefined && { body: Buffer.from(raw, "base64") }),
    ...(sign !== undefined && { sign }),
  };
}

function isHeaders(value: unknown): value is Record<string, string[]> {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every(
    (values) => Array.isArray(values) && values.every((one) => typeof one === "string"),
  );
}
