/**
 * The development identity provider (`--sso`): OpenID Connect and SAML for every user who clicks a name. It listens on
 * the loopback address only, accepts only its own host names (DNS rebinding), and redirects visitors to this server
 * only.
 */
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { request as requestHttps } from "node:https";
import { createServer } from "../lib/http.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { makeOpenId } from "./openid.ts";
import { overviewPage } from "./pages.ts";
import { plain, seeOther } from "./reply.ts";
import type { Asked, Reply } from "./reply.ts";
import { makeSaml } from "./saml.ts";
import { cookieName, newToken, SignIns } from "./sign-ins.ts";
import { makeSigningKey, pemOf, readSigningKey } from "./signing-key.ts";
import type { SigningKey } from "./signing-key.ts";

export interface SsoProvider {
  /** Issuer of OpenID Connect, and base URL of its pages. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  samlMetadata(): string;
  /** Sets the edge that it serves from now on. Before the call, it redirects no visitors. */
  serve(place: Place): void;
  stop(): Promise<void>;
}

/** The edge that requests logins. */
export interface Place {
  /** Origin of the login host, such as `https://idp.localhost:8443`. */
  readonly origin: string;
  /** Port of the edge on this machine. */
  readonly port: number;
  readonly caPem: string | undefined;
}

/** Services that both protocols share. */
export interface Services {
  readonly issuer: string;
  readonly now: () => number;
  readonly keys: Keys;
  readonly signIns: SignIns;
  /** The origin to which visitors are redirected; "" for none. */
  readonly ours: () => string;
  /** Posts a form to a path at that origin. */
  readonly tell: (path: string, form: Readonly<Record<string, string>>) => Promise<void>;
}

interface Keys {
  readonly current: SigningKey;
  readonly published: () => readonly SigningKey[];
}

/** Paths to which only the provider's own pages may post. */
const buttons: ReadonlySet<string> = new Set(["/sign-in", "/sign-out", "/rotate", "/saml/begin"]);
const host = "127.0.0.1";
const maxBodyBytes = 512 * 1024;
const tellMs = 5_000;

interface SsoOptions {
  /** 0: any free port. */
  readonly port: number;
  /** Client secret of OpenID Connect. Default: a random one. */
  readonly clientSecret?: string;
  /** PEM of the key and certificate of the previous run. Default: a new key. */
  readonly signingKey?: string | undefined;
  /** Stores the PEM of a new key. */
  keepSigningKey?(pem: string): void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Rejects if the port is in use. */
export async function startSso(options: SsoOptions): Promise<SsoProvider> {
  const { port, clientSecret = newToken(), signingKey, keepSigningKey, clock, log } = options;
  let place: Place | undefined;
  const newKey = async (): Promise<SigningKey> => {
    const made = await makeSigningKey(clock.now());
    keepSigningKey?.(pemOf(made));
    return made;
  };
  let signing = [readSigningKey(signingKey, clock.now()) ?? (await newKey())];
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 65_536 }, (request, response) => {
    void answer(request).then(
      ({ status, headers, body }) => response.writeHead(status, { "cache-control": "no-store", ...headers }).end(body),
      (error: unknown) => {
        log.error("the development identity provider could not answer", { error });
        if (!response.headersSent) response.writeHead(500);
        response.end();
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`;
  const names = new Set([issuer.slice("http://".length), `localhost:${(server.address() as AddressInfo).port}`]);
  const signIns = new SignIns(() => clock.now());
  const services: Services = {
    issuer,
    now: () => clock.now(),
    signIns,
    keys: {
      get current() {
        return signing[0] as SigningKey;
      },
      published: () => signing,
    },
    ours: () => place?.origin ?? "",
    async tell(path, form) {
      if (place) await post(place, path, form);
    },
  };
  const openid = makeOpenId(services, clientSecret);
  const saml = makeSaml(services);

  const signOut = async (asked: Asked): Promise<Reply> => {
    const current = signIns.of(asked);
    if (!current) return seeOther(`${issuer}/`);
    signIns.end(current);
    for (const tell of current.ends.values()) {
      await tell().catch((error: unknown) => log.warn("a service did not receive a logout notice", { error }));
    }
    return saml.leave(current) ?? seeOther(`${issuer}/`);
  };
  const rotate = async (): Promise<Reply> => {
    signing = [await newKey(), ...signing].slice(0, 2);
    return seeOther(`${issuer}/`);
  };
  const own: Readonly<Record<string, (asked: Asked) => Reply | Promise<Reply>>> = {
    "GET /": (asked) => overviewPage({ signedInAs: signIns.of(asked)?.person.name, samlServices: saml.services() }),
    "POST /sign-in": (asked) => signIns.answer(asked),
    "POST /sign-out": signOut,
    "POST /rotate": rotate,
  };
  const answer = async (request: IncomingMessage): Promise<Reply> => {
    if (!names.has(request.headers.host ?? "")) return plain(421, `This is ${issuer}.`);
    const asked = await read(request, issuer);
    if (!asked) return plain(413, `The body must have at most ${maxBodyBytes} bytes.`);
    const { origin } = request.headers;
    const isOwn = origin !== undefined && names.has(origin.slice("http://".length));
    if (buttons.has(asked.path) && asked.method === "POST" && !isOwn)
      return plain(403, "Requests from other sites are rejected.");
    const handler = own[`${asked.method} ${asked.path}`];
    if (handler) return await handler(asked);
    return openid.answer(asked) ?? saml.answer(asked) ?? plain(404, "This page does not exist.");
  };
  return {
    issuer,
    clientId: openid.clientId,
    clientSecret: openid.clientSecret,
    samlMetadata: saml.metadata,
    serve: (given) => void (place = given),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns undefined if the body is too long. */
async function read(request: IncomingMessage, issuer: string): Promise<Asked | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > maxBodyBytes) return undefined;
    pieces.push(piece);
  }
  const url = new URL(request.url ?? "/", issuer);
  const cookies = (request.headers.cookie ?? "").split("; ");
  return {
    method: request.method === "HEAD" ? "GET" : (request.method ?? ""),
    path: url.pathname,
    query: url.searchParams,
    form: new URLSearchParams(Buffer.concat(pieces).toString()),
    authorization: request.headers.authorization ?? "",
    cookie: cookies.find((one) => one.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1) ?? "",
  };
}

function post({ origin, port, caPem }: Place, path: string, form: Readonly<Record<string, string>>): Promise<void> {
  const { host: authority, hostname: servername } = new URL(origin);
  const body = new URLSearchParams(form).toString();
  return new Promise((resolve, reject) => {
    const request = requestHttps(
      {
        host,
        port,
        servername,
        ca: caPem,
        path,
        method: "POST",
        timeout: tellMs,
        agent: false,
        headers: { host: authority, "content-type": "application/x-www-form-urlencoded" },
      },
      (response) => {
        response.resume();
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${path} answers ${response.statusCode}`));
      },
    );
    request.on("timeout", () => request.destroy(new Error(`${path} does not answer`)));
    request.on("error", reject);
    request.end(body);
  });
}
