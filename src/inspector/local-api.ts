/** The agent's local API, over HTTP on this machine. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "../lib/http.ts";
import type { PageReply, Pages } from "../pages/pages.ts";
import type { Exchange } from "./exchange.ts";
import { eventsPath, streamEvents } from "./event-stream.ts";
import { admit } from "./guard.ts";
import type { Inspector } from "./inspector.ts";
import { LocalRefusal, renderRefusal } from "./local-refusal.ts";
import { renderEndpoint, renderExchange, renderTunnel } from "./render.ts";
import { replay } from "./replay.ts";
import type { ReplayEdits } from "./replay.ts";
import { hasText } from "./text-search.ts";

export interface LocalApiOptions {
  readonly inspector: Inspector;
  /** "" for every address. */
  readonly host: string;
  /** Tried in turn; the first that is free. */
  readonly ports: readonly number[];
  /** The agent's session, as `GET /api/status` has it. */
  readonly status: () => object;
}

export interface LocalApi {
  /** `http://127.0.0.1:4040`. */
  readonly url: string;
  close(): Promise<void>;
}

interface Call {
  readonly query: URLSearchParams;
  /** The last part of the path, where the route has one. */
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly location?: string;
}

type Handler = (options: LocalApiOptions, call: Call) => Answer | Promise<Answer>;

const maxBodyBytes = 1_048_576;
const usualLimit = 100;

/** Method and path; `:` stands for one part of it. */
const routes: Readonly<Record<string, Handler>> = {
  "GET /api": () =>
    ok({
      uri: "/api",
      links: {
        status: "/api/status",
        tunnels: "/api/tunnels",
        endpoints: "/api/endpoints",
        requests: "/api/requests/http",
      },
    }),
  "GET /api/status": ({ status }) => ok({ uri: "/api/status", ...status() }),
  "GET /api/tunnels": ({ inspector }) =>
    ok({ tunnels: [...inspector.tunnels.values()].map(renderTunnel), uri: "/api/tunnels" }),
  "GET /api/tunnels/:": ({ inspector }, { name }) => ok(renderTunnel(tunnelNamed(inspector, name))),
  "GET /api/endpoints": ({ inspector }) =>
    ok({ endpoints: [...inspector.tunnels.values()].map(renderEndpoint), uri: "/api/endpoints" }),
  "GET /api/endpoints/:": ({ inspector }, { name }) => ok(renderEndpoint(tunnelNamed(inspector, name))),
  "GET /api/requests/http": ({ inspector }, { query }) => {
    const options = { reveals: isSet(query, "reveal"), isBrief: isSet(query, "brief") };
    const found = inspector.store.list(limitOf(query), filterOf(query));
    return ok({ uri: "/api/requests/http", requests: found.map((one) => renderExchange(one, options)) });
  },
  "GET /api/requests/http/:": ({ inspector }, { name, query }) =>
    ok(renderExchange(exchangeOf(inspector, name), { reveals: isSet(query, "reveal") })),
  "POST /api/requests/http": async ({ inspector }, { body }) => {
    const given = exchangeOf(inspector, textOf(body, "id") ?? "");
    const tunnel = tunnelNamed(inspector, textOf(body, "tunnel_name") ?? given.tunnel);
    const sent = await replay(inspector, given, tunnel, editsOf(body));
    return { status: 204, location: `/api/requests/http/${sent.id}` };
  },
  "DELETE /api/requests/http": ({ inspector }) => {
    inspector.store.clear();
    return { status: 204 };
  },
};

/** Listens. Rejects when none of the ports is free. */
export async function startLocalApi(options: LocalApiOptions): Promise<LocalApi> {
  const server = createServer((request, response) => void handle(options, request, response));
  const { host, ports } = options;
  for (const [at, port] of ports.entries()) {
    try {
      await listen(server, host, port);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || at + 1 === ports.length) throw error;
    }
  }
  // It does not keep the agent alive.
  server.unref();
  const { port } = server.address() as AddressInfo;
  const shown = host === "" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${shown}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host !== "" && { host }) }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function handle(options: LocalApiOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    admit(request, options.host);
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (request.method === "GET" && path === eventsPath) return streamEvents(options.inspector, response);
    const page = isRead(request) && !path.startsWith("/api") ? await pageAt(path, request) : undefined;
    if (!page) return send(response, await answer(options, request));
    response.writeHead(page.status, { ...page.headers, "content-length": page.body.length });
    response.end(page.body);
  } catch (error) {
    // What went wrong otherwise may hold parts of what was kept.
    const refusal = error instanceof LocalRefusal ? error : new LocalRefusal(500, "this could not be answered");
    send(response, { status: refusal.status, body: renderRefusal(refusal) });
  }
}

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

let pages: Pages | undefined;

/** The page, and what it is made of: read when somebody looks at it. */
async function pageAt(path: string, request: IncomingMessage): Promise<PageReply | undefined> {
  pages ??= (await import("../pages/pages.ts")).openPages("inspector.html");
  return pages.get(path.startsWith("/inspect/") ? "/" : path, request.headers["accept-encoding"]);
}

async function answer(options: LocalApiOptions, request: IncomingMessage): Promise<Answer> {
  const url = URL.parse(`http://host${request.url ?? "/"}`);
  const path = (url?.pathname ?? "/").replace(/(?<=.)\/$/, "");
  const cut = path.lastIndexOf("/");
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  const whole = routes[`${method} ${path}`];
  const handler = whole ?? routes[`${method} ${path.slice(0, cut)}/:`];
  if (!url || !handler) throw new LocalRefusal(404, `there is no ${method} ${path}`);
  const body = method === "POST" ? await readBody(request) : {};
  return await handler(options, { query: url.searchParams, name: whole ? "" : decoded(path.slice(cut + 1)), body });
}

async function readBody(request: IncomingMessage): Promise<Call["body"]> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBodyBytes) throw new LocalRefusal(413, `a body has at most ${maxBodyBytes} bytes`);
    parts.push(part);
  }
  let read: unknown;
  try {
    read = JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    throw new LocalRefusal(400, "the body is no JSON");
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    throw new LocalRefusal(400, "the body must be a JSON object");
  }
  return read as Call["body"];
}

function send(response: ServerResponse, { status, body, location }: Answer): void {
  const text = body && `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    ...(location !== undefined && { location }),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}

function ok(body: object): Answer {
  return { status: 200, body };
}

function tunnelNamed({ tunnels }: Inspector, name: string) {
  const found = tunnels.get(name);
  if (!found) throw new LocalRefusal(404, "there is no tunnel of this name");
  return found;
}

function exchangeOf({ store }: Inspector, id: string) {
  const found = store.get(id);
  if (!found) throw new LocalRefusal(404, "there is no request of this id: it is not kept, or no longer");
  return found;
}

function limitOf(query: URLSearchParams): number {
  const given = query.get("limit") ?? String(usualLimit);
  if (!/^\d{1,6}$/.test(given)) throw new LocalRefusal(400, "limit must be a number");
  return Number(given);
}

function isSet(query: URLSearchParams, name: string): boolean {
  return query.get(name) === "true";
}

/** `tunnel_name`, and `text` in a head or in what was kept of a body; in credentials nothing is looked for. */
function filterOf(query: URLSearchParams): (exchange: Exchange) => boolean {
  const tunnel = query.get("tunnel_name");
  const text = query.get("text");
  return (exchange) => (tunnel === null || exchange.tunnel === tunnel) && (text === null || hasText(exchange, text));
}

function textOf(body: Call["body"], name: string): string | undefined {
  const value = body[name];
  if (value === undefined || typeof value === "string") return value;
  throw new LocalRefusal(400, `${name} must be a text`);
}

/** `method`, `uri`, `headers`, and `body` in base64. Throws `LocalRefusal`. */
function editsOf(body: Call["body"]): ReplayEdits {
  const { method, uri, raw } = { method: textOf(body, "method"), uri: textOf(body, "uri"), raw: textOf(body, "body") };
  const { headers } = body;
  if (headers !== undefined && !isHeaders(headers)) {
    throw new LocalRefusal(400, "headers must be an object with a list of texts for each name");
  }
  return {
    ...(method !== undefined && { method }),
    ...(uri !== undefined && { uri }),
    ...(headers !== undefined && { headers }),
    ...(raw !== undefined && { body: Buffer.from(raw, "base64") }),
  };
}

function isHeaders(given: unknown): given is Record<string, string[]> {
  if (typeof given !== "object" || given === null) return false;
  return Object.values(given).every(
    (values) => Array.isArray(values) && values.every((one) => typeof one === "string"),
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new LocalRefusal(400, "the path is not encoded as a URL is");
  }
}
