import type { Socket } from "node:net";
import { canonicalPath } from "../../lib/canonical-path.ts";
import { originForm, parseAuthority } from "../../http1/authority.ts";
import { HeadBuffer } from "../../http1/head-buffer.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import { startListener } from "./listener.ts";
import type { ListenAddress, Listener, PublicListenerContext } from "./listener.ts";

export interface RedirectOptions extends PublicListenerContext {
  readonly at: ListenAddress;
  /** The port that public URLs name; left out of them when it is 443. */
  readonly advertisedHttpsPort: number;
  /** What a certificate authority is answered at a path of a host; undefined: nothing is asked there. */
  readonly challengeBody: (host: string, path: string) => string | undefined;
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
 * certificate authorities are answered here.
 */
export async function startRedirectListener(options: RedirectOptions): Promise<Listener> {
  const { clock, advertisedHttpsPort, challengeBody } = options;
  const accept = (socket: Socket): void => {
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
      finish("outcome" in read ? { status: 400, text: "The request could not be read as HTTP." } : redirect(read));
    };
    const onEnd = (): void => {
      socket.destroy();
    };
    socket.on("data", onData);
    socket.on("end", onEnd);
    socket.resume();
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
