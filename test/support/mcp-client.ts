/** The public MCP client with streams over either version of HTTP, and a person who logs in for it. */
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { Browser } from "./browser.ts";
import { trusting } from "./http-client.ts";
import type { Protocol } from "./http-client.ts";
import { decide, logIn, redirectUri } from "./oauth-client.ts";

type Headers_ = Readonly<Record<string, string>>;
type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** `fetch` whose names lead to this machine. Responses are read as they arrive. */
export function localFetch(ca: string, http: Protocol): { readonly fetch: Fetch; close(): void } {
  const sessions = new Map<string, ClientHttp2Session>();
  const open = new AbortController();
  const fetch: Fetch = async (given, init = {}) => {
    const url = new URL(given);
    const headers = Object.fromEntries(new Headers(init.headers));
    const body = init.body ? await new Response(init.body).text() : undefined;
    const signals = [open.signal, ...(init.signal ? [init.signal] : [])];
    const sent = { url, headers, method: init.method ?? "GET", body, signal: AbortSignal.any(signals) };
    return http === "h1" ? await overHttp1(sent, ca) : await overHttp2(sent, ca, sessions);
  };
  return {
    fetch,
    close() {
      open.abort();
      for (const session of sessions.values()) session.destroy();
    },
  };
}

interface Sent {
  readonly url: URL;
  readonly headers: Headers_;
  readonly method: string;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

function responseOf(
  status: number,
  fields: Readonly<Record<string, number | string | string[] | undefined>>,
  body: Readable,
): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && !name.startsWith(":")) headers.set(name, String(value));
  }
  body.on("error", () => {});
  const isEmpty = status === 204 || status === 304 || status === 202;
  return new Response(isEmpty ? null : (Readable.toWeb(body) as ReadableStream<Uint8Array>), { status, headers });
}

function overHttp1({ url, headers, method, body, signal }: Sent, ca: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname, search, host } = url;
    const place = { host: "127.0.0.1", port, servername: hostname, path: pathname + search };
    const trust = { secureContext: trusting(ca), agent: false, signal };
    const request = requestHttps({ ...place, ...trust, method, headers: { host, ...headers } });
    request.on("error", reject);
    request.on("response", (response) => {
      if (response.statusCode === 202 || response.statusCode === 204) response.resume();
      resolve(responseOf(response.statusCode ?? 0, response.headers, response));
    });
    request.end(body);
  });
}

function overHttp2(
  { url, headers, method, body, signal }: Sent,
  ca: string,
  sessions: Map<string, ClientHttp2Session>,
) {
  let session = sessions.get(url.host);
  if (!session || session.closed || session.destroyed) {
    session = connectHttp2(`https://127.0.0.1:${url.port}`, { servername: url.hostname, ca });
    session.on("error", () => {});
    sessions.set(url.host, session);
  }
  const { pathname, search, host } = url;
  const fields = { ":method": method, ":path": pathname + search, ":authority": host, ...headers };
  const stream = session.request(fields, { signal });
  return new Promise<Response>((resolve, reject) => {
    stream.on("error", reject);
    stream.on("response", (answer) => resolve(responseOf(answer[":status"] ?? 0, answer, stream)));
    stream.end(body);
  });
}

/** What a client stores between its requests. */
export class ClientStore implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata;
  opened: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = "";

  constructor(redirectUrl = redirectUri) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: "SDK client",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    };
  }
  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.opened = url);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  invalidateCredentials = () => void (this.#tokens = undefined);
}

/** Logs in at the development provider as the person with this id, and allows the client. Returns the code. */
export async function allowAtDevProvider(browser: Browser, url: string, person: string): Promise<string> {
  const page = await logIn(browser, url);
  const request = /name="request" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
  const signed = await browser.visit(new URL("/sign-in", page.url).href, {
    method: "POST",
    body: new URLSearchParams({ request, person }).toString(),
    headers: { origin: new URL(page.url).origin },
    stop: (next) => next.startsWith(redirectUri),
  });
  const back = signed.status === 200 ? await decide(browser, signed, "allow") : signed;
  const location = back.headers.location;
  if (location === undefined) throw new Error(`no redirect to the client: ${back.status} ${back.text}`);
  return new URL(location).searchParams.get("code") ?? "";
}

export interface ConnectOptions {
  readonly transport: "http" | "sse";
  readonly fetch: Fetch;
  /** Logs a person in at the URL that the client opens, and returns the code. Absent for a server without a login. */
  readonly confirm?: (url: string) => Promise<string>;
}

/** Connects as an application does, with a login if the server wants one. */
export async function connectMcp(url: string, { transport, fetch, confirm }: ConnectOptions): Promise<Client> {
  const store = new ClientStore();
  const make = () => {
    const options = { fetch, ...(confirm && { authProvider: store }) };
    return transport === "sse"
      ? new SSEClientTransport(new URL(url), options)
      : new StreamableHTTPClientTransport(new URL(url), options);
  };
  type Connects = Parameters<Client["connect"]>[0];
  const connect = async (through: ReturnType<typeof make>): Promise<Client> => {
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(through as unknown as Connects);
    return client;
  };
  const first = make();
  try {
    return await connect(first);
  } catch (error) {
    if (!confirm || !(error instanceof UnauthorizedError)) throw error;
  }
  await first.finishAuth(await confirm(String(store.opened)));
  return await connect(make());
}

export async function callTool(client: Client, name: string): Promise<string> {
  const { content } = (await client.callTool({ name })) as { content: readonly { text: string }[] };
  return content[0]?.text ?? "";
}
