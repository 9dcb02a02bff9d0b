/** Answers of the plain HTTP listener: a redirect to HTTPS, or a certificate authority's challenge. */
import { originForm, parseAuthority } from "../../http1/authority.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import { canonicalPath } from "../../lib/canonical-path.ts";

export interface PlainAnswer {
  readonly status: 200 | 308 | 400;
  readonly location?: string;
  readonly text: string;
  /** Whether the body is only described, as for HEAD. */
  readonly bodyless?: boolean;
}

/** Returns the challenge body for a path of a host. Undefined without a current challenge there. */
export type ChallengeBody = (host: string, path: string) => string | undefined;

/** Target of a request: host in lower case, path and query as sent. */
export interface PlainTarget {
  readonly host: string;
  readonly path: string;
}

const reasons = { 200: "OK", 308: "Permanent Redirect", 400: "Bad Request" } as const;

export const unreadableAnswer: PlainAnswer = { status: 400, text: "The server could not parse the request as HTTP." };

/** Returns undefined if the request names no host and path. */
export function targetOf({ fields, target }: RequestRead): PlainTarget | undefined {
  const authority = parseAuthority(fields.get("host") ?? "");
  const path = authority && originForm(target, authority);
  return !authority || path === undefined ? undefined : { host: authority.host, path };
}

/** @param httpsPort port in public URLs, omitted if it is 443 */
export function answerPlain(request: RequestRead, httpsPort: number, challengeBody: ChallengeBody): PlainAnswer {
  const target = targetOf(request);
  if (!target) return { status: 400, text: "The request has no host or path." };
  const { host, path } = target;
  const bodyless = request.method === "HEAD";
  // Uses the form that the HTTPS listener compares. A path without that form is redirected there and refused.
  const asked = canonicalPath(path.split("?", 1)[0] as string);
  const body = asked === undefined ? undefined : challengeBody(host, asked);
  if (body !== undefined) return { status: 200, text: body, bodyless };
  const location = `https://${host}${httpsPort === 443 ? "" : `:${httpsPort}`}${path}`;
  return { status: 308, location, text: `This address is served over HTTPS: ${location}`, bodyless };
}

export function renderPlain({ status, location, text, bodyless }: PlainAnswer): string {
  const lines = [
    `HTTP/1.1 ${status} ${reasons[status]}`,
    ...(location === undefined ? [] : [`Location: ${location}`]),
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${text.length + 1}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${bodyless === true ? "" : `${text}\n`}`;
}
