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
import { overviewPage } from "./sign-in-pages.ts";
import { replyText, seeOther } from "./provider-reply.ts";
import type { ProviderRequest, ProviderReply } from "./provider-reply.ts";
import { makeSaml } from "./sso-saml.ts";
import { cookieName, newToken, SignIns } from "./sign-ins.ts";
import { makeSigningKey, pemOf, readSigningKey } from "./signing-key.ts";
import type { SigningKey } from "./signing-key.ts";
import type { ProviderServices } from "./provider-services.ts";

export interface SsoProvider {
  /** Issuer of OpenID Connect, and base URL of its pages. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  samlMetadata(): string;
  /** Sets the edge that it serves from now on. Before the call, it redirects no visitors. */
  serve(place: EdgePlace): void;
  stop(): Promise<void>;
}

/** The edge that requests logins. */
export interface EdgePlace {
  /** Origin of the login host, such as `https://idp.localhost:8443`. */
  readonly origin: string;
  /** Port of the edge on this machine. */
  readonly port: number;
  readonly caPem: string | undefined;
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
  let place: EdgePlace | undefined;
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
  const services: ProviderServices = {
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
      if (place) await postForm(place, path, form);
    },
  };
  const openid = makeOpenId(services, clientSecret);
  const saml = makeSaml(services);

  const signOut = async (asked: ProviderRequest): Promise<ProviderReply> => {
    const current = signIns.of(asked);
    if (!current) return seeOther(`${issuer}/`);
    signIns.end(current);
    for (const tell of current.ends.values()) {
      await tell().catch((error: unknown) => log.warn("a service did not receive a logout notice", { error }));
    }
    return saml.leave(current) ?? seeOther(`${issuer}/`);
  };
  const rotate = async (): Promise<ProviderReply> => {
    signing = [await newKey(), ...signing].slice(0, 2);
    return seeOther(`${issuer}/`);
  };
  const own: Readonly<Record<string, (asked: ProviderRequest) => ProviderReply | Promise<ProviderReply>>> = {
    "GET /": (asked) => overviewPage({ signedInAs: signIns.of(asked)?.person.name, samlServices: saml.services() }),
    "POST /sign-in": (asked) => signIns.answer(asked),
    "POST /sign-out": signOut,
    "POST /rotate": rotate,
  };
  const answer = async (request: IncomingMessage): Promise<ProviderReply> => {
    if (!names.has(request.headers.host ?? "")) return replyText(421, `This is ${issuer}.`);
    const asked = await readRequest(request, issuer);
    if (!asked) return replyText(413, `The body must have at most ${maxBodyBytes} bytes.`);
    const { origin } = request.headers;
    const isOwn = origin !== undefined && names.has(origin.slice("http://".length));
    if (buttons.has(asked.path) && asked.method === "POST" && !isOwn)
      return replyText(403, "Requests from other sites are rejected.");
    const handler = own[`${asked.method} ${asked.path}`];
    if (handler) return await handler(asked);
    return openid.answer(asked) ?? saml.answer(asked) ?? replyText(404, "This page does not exist.");
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
async function readRequest(request: IncomingMessage, issuer: string): Promise<ProviderRequest | undefined> {
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

function postForm(
  { origin, port, caPem }: EdgePlace,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<void> {
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
