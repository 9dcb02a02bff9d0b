/** Inputs of any size that each grow in one way. Work on an input must not grow faster than the input. */
import { host } from "./busy-edge.ts";
import type { BusyEdge } from "./busy-edge.ts";
import { block, flags, frame as h2Frame, preface, settings } from "./h2-frames.ts";
import { filtered, fromService, overTls, underPolicy } from "./hostile-families.ts";
import { frameType as types } from "../../src/http2/http2-frames.ts";
import { auth, question } from "./raw-agent.ts";

/** Sends an input of this share, 0 to 1, of the largest that is read. */
export type Grows = (share: number) => Promise<void>;

/** Requests on one connection. The cost of a handshake would hide the cost of one request. */
const pipelined = 24;
/** Bytes of a growing head. The edge reads heads of up to 32 KiB. */
const headBytes = 24_000;
const targetBytes = 14_000;

export function growingInputs(busy: BusyEdge): Readonly<Record<string, Grows>> {
  const { https, agent } = busy.edge.edge;
  const last = `GET /fixed HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const heads = (head: (share: number) => string): Grows => {
    return (share) => overTls(busy, "http/1.1", https.port, Buffer.from(head(share).repeat(pipelined) + last));
  };
  const target = (path: string, unit: string): Grows =>
    heads((share) => `GET ${path}${filled(unit, targetBytes * share)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const field = (path: string, name: string, unit: string): Grows =>
    heads((share) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${name}: a${filled(unit, headBytes * share)}\r\n\r\n`);
  const body = (path: string, count: number): Grows => {
    const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Slack-Signature: v0=ab\r\nTransfer-Encoding: chunked\r\n\r\n`;
    return (share) =>
      overTls(
        busy,
        "http/1.1",
        https.port,
        Buffer.from(`${head}${"1\r\nx\r\n".repeat(count * share)}0\r\n\r\n${last}`),
      );
  };
  const begun = Buffer.concat([Buffer.from(preface), h2Frame(types.settings, 0, 0, settings([4, 65_535]))]);
  const overHttp2 = (frames: (share: number) => readonly Buffer[]): Grows => {
    return (share) =>
      overTls(
        busy,
        "h2",
        https.port,
        Buffer.concat([begun, ...frames(share), h2Frame(types.goaway, 0, 0, Buffer.alloc(8))]),
      );
  };
  const pseudo = (path: string): [string, string][] => [
    [":method", "GET"],
    [":scheme", "https"],
    [":authority", host],
    [":path", path],
  ];
  let policies = 0;
  // A different text each time, because compiled texts are cached.
  const rules = (count: number): string =>
    JSON.stringify({
      on_http_request: Array.from({ length: count }, (_, at) => ({
        expressions: [
          `req.url.path == '/${(policies += 1)}' && req.headers['x'].exists(h, h.matches('^[a-z]{1,20}${at}$'))`,
        ],
        actions: [{ type: "add-headers", config: { headers: { "x-a": "${req.url.path}" } } }],
      })),
    });
  /** YAML that is not JSON. */
  const names = (count: number): string =>
    Array.from({ length: count }, () => `a${(policies += 1).toString(36)}: `).join(",");
  return {
    encodedDots: target("/", "%2e"),
    dotSegments: target("/", "a/../"),
    slashes: target("/", "//"),
    parameters: target("/policy/x?", "&x=1"),
    names: target("/policy/x?", "&%41a=1"),
    cookies: field("/login", "Cookie", "; a=b"),
    policyCookies: field("/policy/x", "Cookie", "; a=b"),
    codings: field("/static", "Accept-Encoding", ", gzip;q=0.5"),
    forwarded: field("/policy/x", "X-Forwarded-For", ", 192.0.2.1"),
    userAgent: field("/policy/x", "User-Agent", " Mozilla/5.0 (X11)"),
    list: field("/policy/x", "X", ", a"),
    fields: heads(
      (share) => `GET /policy/x HTTP/1.1\r\nHost: ${host}\r\n${"X: a\r\n".repeat(Math.floor(120 * share))}\r\n`,
    ),
    heldBody: body("/hook", 60_000),
    policyBody: body("/policy/body", 60_000),
    dataFrames: overHttp2((share) => [
      h2Frame(
        types.headers,
        flags.endHeaders,
        1,
        block([[":method", "POST"], ...pseudo("/hook").slice(1), ["x-slack-signature", "v0=ab"]]),
      ),
      ...Array.from({ length: Math.floor(20_000 * share) }, () => h2Frame(types.data, 0, 1, Buffer.from("a"))),
      h2Frame(types.data, flags.endStream, 1),
    ]),
    crumbs: overHttp2((share) =>
      Array.from({ length: 50 }, (_, at) =>
        h2Frame(
          types.headers,
          flags.endHeaders | flags.endStream,
          2 * at + 1,
          block([
            ...pseudo("/login"),
            ...Array.from({ length: Math.floor(100 * share) }, (): [string, string] => ["cookie", "a=b"]),
          ]),
        ),
      ),
    ),
    indexedPaths: overHttp2((share) => [
      h2Frame(
        types.headers,
        flags.endHeaders | flags.endStream,
        1,
        block(pseudo(`/${filled("%2e", 3600 * share)}`), 0x40),
      ),
      ...Array.from({ length: 90 }, (_, at) =>
        h2Frame(types.headers, flags.endHeaders | flags.endStream, 3 + 2 * at, Buffer.from([0xc1, 0xc0, 0xbf, 0xbe])),
      ),
    ]),
    responseChunks: (share) =>
      fromService(
        busy,
        Buffer.from(
          `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(60_000 * share)}0\r\n\r\n`,
        ),
      ),
    responseFields: (share) =>
      fromService(
        busy,
        Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${"Set-Cookie: a=b\r\n".repeat(120 * share)}\r\n`),
      ),
    interim: (share) =>
      fromService(
        busy,
        Buffer.from(
          `${"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(2000 * share)}HTTP/1.1 204 No Content\r\n\r\n`,
        ),
      ),
    agentMembers: (share) => {
      const more = Object.fromEntries(Array.from({ length: 40_000 * share }, (_, at) => [`m${at}`, at]));
      return overTls(busy, undefined, agent.port, question(1, 0, auth(more, { AuthToken: busy.token })));
    },
    filterTerms: (share) => filtered(Array.from({ length: 1 + 100 * share }, () => "obj.id == 'a'").join(" || ")),
    policyRules: (share) => underPolicy(busy, rules(Math.floor(100 * share))),
    policyNames: (share) => underPolicy(busy, `on_http_request: {${names(Math.floor(10_000 * share))}}`),
  };
}

/** Repeats the unit up to about this many bytes. */
function filled(unit: string, bytes: number): string {
  return unit.repeat(Math.floor(bytes / unit.length));
}
