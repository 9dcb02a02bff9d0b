import type { Socket } from "node:net";
import { canonicalPath } from "../../lib/canonical-path.ts";
import { originForm, parseAuthority } from "../../http1/authority.ts";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { Site } from "../../routing/sites/compiled.ts";
import { makeAccountConnections } from "./account-connections.ts";
import { connectionFacts, startListener } from "./listener.ts";
import type { Client, ListenAddress, Listener, PublicListenerContext } from "./listener.ts";

/** Endpoints that are reached without TLS. */
export interface PlainEndpoints {
  /** The site for a lower-case host, now. */
  siteFor(host: string): Site | undefined;
  /** Takes a connection over whose first request is for such a site. @param first what was read of it */
  serve(socket: Socket, facts: ConnectionFacts, first: Buffer): void;
}

export interface RedirectOptions extends PublicListenerContext {
  readonly at: ListenAddress;
  /** The port that public URLs name; left out of them when it is 443. */
  readonly advertisedHttpsPort: number;
  /** What a certificate authority is answered at a path of a host; undefined: nothing is asked there. */
  readonly challengeBody: (host: string, path: string) => string | undefined;
  readonly endpoints?: PlainEndpoints | undefined;
}

interface PlainAnswer {
  readonly status: 200 | 308 | 400;
  readonly location?: string;
  readonly text: string;
  /** The text is only described, as for HEAD. */
  readonly bodyless?: boolean;
}

const reasons = { 200: "OK", 308: "Permanent Redirect", 400: "Bad Request" } as const;

const headLimits = { maxHeadBytes: 16 * 1024, maxTargetBytes: 8 * 1024, maxFields: 100 };
const headTimeoutMs = 10_000;
/** A body that came with the request is read this long: closing over it would reset the answer away. */
const lingerMs = 1000;

/**
 * The plain HTTP listener: sends every request to the same host and path on HTTPS, one per connection, except that
 * certificate authorities are answered here, and that agents may have published the host without TLS.
 */
export async function startRedirectListener(options: RedirectOptions): Promise<Listener> {
  const { clock, advertisedHttpsPort, challengeBody, endpoints, limits } = options;
  const accounts = makeAccountConnections(limits.connectionsPerAccount);
  const accept = (socket: Socket, client: Client): void => {
    const startedAt = clock.now();
    const head = new HeadBuffer();
    let timer = clock.after(headTimeoutMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
    const finish = (answer: PlainAnswer): void => {
      socket.removeListener("data", onData);
      socket.removeListener("end", onEnd);
      socket.end(render(answer));
      socket.resume();
      timer.cancel();
      timer = clock.after(lingerMs, () => socket.destroy());
    };
    const onData = (bytes: Buffer): void => {
      if (!head.add(bytes, headLimits.maxHeadBytes)) return;
      const read = readRequestHead(head.bytes(), 0, headLimits);
      if (read === undefined) return;
      const site = "outcome" in read ? undefined : endpointOf(read);
      if (site && endpoints) {
        hand(endpoints, site);
        return;
      }
      finish("outcome" in read ? { status: 400, text: "The request could not be read as HTTP." } : redirect(read));
    };
    const hand = ({ serve }: PlainEndpoints, { accountId }: Site): void => {
      socket.removeListener("data", onData);
      socket.removeListener("end", onEnd);
      timer.cancel();
      if (accounts.isFull(accountId)) {
        socket.destroy();
        return;
      }
      accounts.enter(accountId);
      socket.once("close", () => accounts.leave(accountId));
      serve(socket, connectionFacts(socket, client, startedAt), head.bytes());
    };
    const onEnd = (): void => {
      socket.destroy();
    };
    socket.on("data", onData);
    socket.on("end", onEnd);
    socket.resume();
  };
  const endpointOf = ({ fields, target }: RequestRead): Site | undefined => {
    const authority = parseAuthority(fields.get("host") ?? "");
    const path = authority && originForm(target, authority);
    if (!authority || path === undefined || challengeBody(authority.host, path) !== undefined) return undefined;
    return endpoints?.siteFor(authority.host);
  };
  const redirect = ({ method, fields, target }: RequestRead): PlainAnswer => {
    const authority = parseAuthority(fields.get("host") ?? "");
    const path = authority && originForm(target, authority);
    if (!authority || path === undefined) return { status: 400, text: "The request names no host and path." };
    // In the form that the HTTPS listener compares, too; what has none is sent there to be refused.
    const asked = canonicalPath(path.split("?", 1)[0] as string);
    const body = asked === undefined ? undefined : challengeBody(authority.host, asked);
    if (body !== undefined) return { status: 200, text: body, bodyless: method === "HEAD" };
    const port = advertisedHttpsPort === 443 ? "" : `:${advertisedHttpsPort}`;
    const location = `https://${authority.host}${port}${path}`;
    const text = `This address is served over HTTPS: ${location}`;
    return { status: 308, location, text, bodyless: method === "HEAD" };
  };
  return startListener({ ...options, name: "http", accept });
}

function render({ status, location, text, bodyless }: PlainAnswer): string {
  const lines = [
    `HTTP/1.1 ${status} ${reasons[status]}`,
    ...(location === undefined ? [] : [`Location: ${location}`]),
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${text.length + 1}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${bodyless === true ? "" : `${text}\n`}`;
}
