/** A client that stores cookies and follows redirects like a browser. All names resolve to this machine. */
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders } from "node:http";
import type { ClientHttp2Session } from "node:http2";
import { Agent as TlsAgent, request as requestHttps } from "node:https";
import { connect as connectTls } from "node:tls";
import { Agent as PlainAgent, request as requestHttp } from "../../src/lib/http.ts";
import { trusting } from "./http-client.ts";

export interface Visited {
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface VisitOptions {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Browser {
  /** Sends one request without following redirects. */
  ask(url: string, options?: VisitOptions): Promise<Visited>;
  /**
   * Navigates to a URL and follows redirects to the end.
   * @param stop returns true to stop before a URL is requested
   */
  visit(url: string, options?: VisitOptions & { readonly stop?: (url: string) => boolean }): Promise<Visited>;
  /** Names and values of the cookies that are sent to a URL. */
  cookies(url: string): string;
  cookieNames(url: string): string[];
  setCookie(url: string, name: string, value: string): void;
  /** Every request so far. */
  readonly asked: readonly string[];
}

interface Cookie {
  readonly value: string;
  readonly path: string;
}

const maxRedirects = 20;

export interface BrowserOptions {
  /** PEM of the authority that verifies servers. */
  readonly ca: string;
  readonly http?: "h1" | "h2";
}

export function openBrowser({ ca, http = "h1" }: BrowserOptions): Browser {
  const jars = new Map<string, Map<string, Cookie>>();
  const asked: string[] = [];

  const cookies = (text: string): string => {
    const { hostname, pathname } = new URL(text);
    return [...(jars.get(hostname) ?? [])]
      .filter(
        ([, { path }]) =>
          path === "/" || pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`),
      )
      .map(([name, { value }]) => `${name}=${value}`)
      .join("; ");
  };
  const take = (text: string, lines: readonly string[]): void => {
    const { hostname, protocol } = new URL(text);
    const jar = jars.get(hostname) ?? new Map<string, Cookie>();
    jars.set(hostname, jar);
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf("="));
      const value = pair.slice(pair.indexOf("=") + 1);
      const find = (wanted: string): string | undefined =>
        attributes.find((one) => one.toLowerCase().split("=")[0] === wanted);
      const path = find("path")?.slice(5) ?? "/";
      if (name.startsWith("__Host-")) {
        // RFC 6265bis §4.1.3.2
        if (protocol !== "https:" || find("secure") === undefined || path !== "/" || find("domain")) continue;
      }
      const expires = find("expires")?.slice(8);
      const isOver = find("max-age") === "Max-Age=0" || (expires !== undefined && Date.parse(expires) <= Date.now());
      if (isOver) jar.delete(name);
      else jar.set(name, { value, path });
    }
  };
  const ask = async (text: string, { method = "GET", body, headers = {} }: VisitOptions = {}): Promise<Visited> => {
    asked.push(text);
    const url = new URL(text);
    const cookie = cookies(text);
    const sent = {
      ...(cookie !== "" && { cookie }),
      ...(body !== undefined && {
        "content-type": "application/x-www-form-urlencoded",
        "content-length": String(body.length),
      }),
      ...headers,
    };
    const answer =
      url.protocol === "https:" && http === "h2" && url.hostname.endsWith("localhost") && url.hostname !== "localhost"
        ? await askHttp2(url, ca, method, sent, body)
        : await askHttp1(url, ca, method, sent, body);
    take(text, answer.headers["set-cookie"] ?? []);
    return { url: text, ...answer };
  };
  return {
    ask,
    cookies,
    asked,
    cookieNames: (url) => [...(jars.get(new URL(url).hostname)?.keys() ?? [])],
    setCookie(url, name, value) {
      const jar = jars.get(new URL(url).hostname) ?? new Map<string, Cookie>();
      jars.set(new URL(url).hostname, jar.set(name, { value, path: "/" }));
    },
    async visit(text, { stop, ...options } = {}) {
      let current = text;
      let how: VisitOptions = { ...options, headers: { accept: "text/html", ...options.headers } };
      for (let hop = 0; hop < maxRedirects; hop += 1) {
        const answer = await ask(current, how);
        const { location } = answer.headers;
        if (answer.status < 300 || answer.status >= 400 || location === undefined) return answer;
        const next = new URL(location, current).href;
        if (stop?.(next)) return answer;
        current = next;
        how = { headers: { accept: "text/html" } };
      }
      throw new Error(`visit ${text}: more than ${maxRedirects} redirects, the last one to ${current}`);
    },
  };
}

type Raw = Omit<Visited, "url">;

/** Like browsers, the client reuses connections. */
const plainAgent = new PlainAgent({ keepAlive: true });
const tlsAgents = new Map<string, TlsAgent>();

/** Returns the agent for clients that trust an authority. */
function tlsAgent(ca: string): TlsAgent {
  let agent = tlsAgents.get(ca);
  if (agent === undefined) tlsAgents.set(ca, (agent = new TlsAgent({ keepAlive: true, maxCachedSessions: 0 })));
  return agent;
}

async function askHttp1(
  url: URL,
  ca: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Raw> {
  for (;;) {
    const answer = await attempt(url, ca, method, headers, body);
    if (answer !== "stale") return answer;
  }
}

/** Returns "stale" if the server closed a reused connection at the same moment. Browsers then open another one. */
function attempt(
  url: URL,
  ca: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Raw | "stale"> {
  return new Promise((resolve, reject) => {
    const shared = {
      host: "127.0.0.1",
      port: url.port,
      method,
      path: url.pathname + url.search,
      headers: { host: url.host, ...headers },
    };
    // `tls.connect` gets this option from the request.
    const trust = { secureContext: trusting(ca) };
    const request =
      url.protocol === "https:"
        ? requestHttps({ ...shared, ...trust, agent: tlsAgent(ca), servername: url.hostname })
        : requestHttp({ ...shared, agent: plainAgent });
    let hasAnswer = false;
    request.on("error", (error) => {
      if (request.reusedSocket && !hasAnswer) resolve("stale");
      else reject(error);
    });
    request.on("response", (response) => {
      hasAnswer = true;
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(pieces).toString(),
        }),
      );
    });
    request.end(body);
  });
}

/** By trusted authority and by destination. */
const sessions = new Map<string, ClientHttp2Session>();

/** Returns an open session, and whether it already existed. */
function sessionTo(url: URL, ca: string): readonly [session: ClientHttp2Session, isKept: boolean] {
  const key = `${url.origin} ${ca}`;
  const known = sessions.get(key);
  if (known) return [known, true];
  const at = { host: "127.0.0.1", port: Number(url.port), servername: url.hostname };
  const session = connectHttp2(url.origin, {
    createConnection: () => connectTls({ ...at, secureContext: trusting(ca), ALPNProtocols: ["h2"] }),
  });
  for (const event of ["goaway", "close", "error"]) session.on(event, () => forget(session));
  sessions.set(key, session);
  return [session, false];
}

function forget(session: ClientHttp2Session): void {
  for (const [key, one] of sessions) if (one === session) sessions.delete(key);
}

async function askHttp2(
  url: URL,
  ca: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Raw> {
  const [session, isKept] = sessionTo(url, ca);
  let status = 0;
  session.ref();
  try {
    return await new Promise((resolve, reject) => {
      session.once("error", reject);
      const stream = session.request(
        { ":method": method, ":path": url.pathname + url.search, ":authority": url.host, ...headers },
        { endStream: (body ?? "") === "" },
      );
      const pieces: Buffer[] = [];
      let fields: IncomingHttpHeaders = {};
      stream.on("response", (given) => {
        status = given[":status"] ?? 0;
        fields = given as IncomingHttpHeaders;
      });
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("error", reject);
      stream.on("end", () => {
        session.off("error", reject);
        resolve({ status, headers: fields, text: Buffer.concat(pieces).toString() });
      });
      if ((body ?? "") !== "") stream.end(body);
    });
  } catch (error) {
    if (!isKept || status !== 0) throw error;
    forget(session);
    return await askHttp2(url, ca, method, headers, body);
  } finally {
    session.unref();
  }
}
