/** Nearly valid inputs for each protocol of the edge, and how to send each one to the busy edge. */
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { host } from "./busy-edge.ts";
import type { BusyEdge } from "./busy-edge.ts";
import { captureHello } from "./client-hello.ts";
import { block, flags, frame as h2Frame, preface, settings, uint32 } from "./h2-frames.ts";
import { filterEnvironment } from "../../src/api/filter/filter-types.ts";
import { parseFilter } from "../../src/api/filter/parse-filter.ts";
import { Refusal } from "../../src/lib/errors.ts";
import { httpsEdge } from "../../src/resources/https-edge.ts";
import { connectAgent } from "./agents.ts";
import { startTcpService } from "./services.ts";
import { frameType as types } from "../../src/http2/http2-frames.ts";
import { mutate, seedsOf } from "./mutations.ts";
import type { Random } from "./random.ts";
import { docExamples } from "./policy-examples.ts";
import { auth, question } from "./raw-agent.ts";

/** Time to wait for an answer to an input, milliseconds. */
const answerMs = 250;

export interface Family {
  readonly seeds: readonly Buffer[];
  /** Creates the bytes. Default: mutated seeds. */
  readonly make?: (random: Random) => Buffer;
  readonly send: (bytes: Buffer) => Promise<void>;
  /** Whether a step budget bounds the work for these inputs, instead of the cost of a connection. */
  readonly isBudgeted?: true;
}

type Step = readonly [text: string, isList: boolean];
const listSteps: readonly Step[] = [
  [".map(a, [a, a])", true],
  [".map(a, {'k': a})", true],
  [".flatten()", true],
  [".distinct()", true],
  [".filter(a, a != '2')", true],
  [".map(a, req.url.query_params['x'])", true],
  [".map(a, string(a))", true],
  [".map(a, string(a) + string(a))", true],
  [".join(',')", false],
];
const textSteps: readonly Step[] = [
  [".replace('1', '11111111')", false],
  [".lowerAscii()", false],
  [".split('')", true],
  [".split(',')", true],
];

export async function hostileFamilies(busy: BusyEdge): Promise<Readonly<Record<string, Family>>> {
  const { edge } = busy.edge;
  const hello = await captureHello({ servername: host, ALPNProtocols: ["h2", "http/1.1"] });
  const paths = ["/", "/login", "/oidc", "/hook", "/policy/old/1?x=1&y=2", "/policy/body", "/static", "/tcp", "/fixed"];
  const http1 = seedsOf(
    ...paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: a=b; c=d\r\nX: abc\r\n\r\n`),
    `POST /policy/body HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n3\r\none\r\n0\r\nx: y\r\n\r\n`,
    `POST /hook HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\nExpect: 100-continue\r\nX-Slack-Signature: v0=ab\r\n\r\n0123456789`,
    `GET /tcp HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x82\x85\x11\x22\x33\x44hello`,
    `GET /%2e%2e/%2e/a/../b;c=d/%41 HTTP/1.1\r\nHost: ${host}:443\r\nAccept-Encoding: gzip;q=1, br, zstd;q=0.5\r\nRange: bytes=0-1\r\n\r\n`,
    `GET /login HTTP/1.1\r\nHost: ${host}\r\nCookie: __Host-s.session.00000000=x; __Host-s.nonce.00000000=y\r\nAccept: text/html\r\n\r\n`,
    `GET /policy/basic HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Basic YTpi\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n\r\n`,
  );
  const fields = (path: string, method = "GET"): [string, string][] => [
    [":method", method],
    [":scheme", "https"],
    [":authority", host],
    [":path", path],
    ["cookie", "a=b"],
    ["x", "abc"],
  ];
  const begun = Buffer.concat([Buffer.from(preface), h2Frame(types.settings, 0, 0, settings([3, 100], [4, 65_535]))]);
  const h2 = [
    ...paths.map((path) => h2Frame(types.headers, flags.endHeaders | flags.endStream, 1, block(fields(path)))),
    h2Frame(types.headers, flags.endHeaders, 3, block(fields("/policy/body", "POST"))),
    h2Frame(types.data, 0, 3, Buffer.alloc(1000, "one ")),
    h2Frame(types.data, flags.endStream, 3, Buffer.alloc(0)),
    h2Frame(types.headers, flags.endHeaders, 5, block(fields("/%2e%2e/a", "GET"), 0x40)),
    h2Frame(types.continuation, flags.endHeaders, 5, block([["x", "y"]])),
    h2Frame(types.rstStream, 0, 1, uint32(8)),
    h2Frame(types.windowUpdate, 0, 0, uint32(1)),
    h2Frame(types.ping, 0, 0, Buffer.alloc(8)),
    h2Frame(types.settings, 0, 0, settings([4, 1])),
    h2Frame(types.priority, 0, 1, Buffer.alloc(5)),
    h2Frame(types.goaway, 0, 0, Buffer.alloc(8)),
  ];
  const upgradeRequest = Buffer.from(
    `GET /tcp HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  const webSocketFrames = seedsOf(
    "\x82\x85\x11\x22\x33\x44hello",
    "\x02\x81\x11\x22\x33\x44a\x00\x81\x11\x22\x33\x44b\x80\x81\x11\x22\x33\x44c",
    "\x89\x84\x11\x22\x33\x44ping\x88\x82\x11\x22\x33\x44\x12\xca",
    `\x82\xfe\x03\xe8\x11\x22\x33\x44${"x".repeat(1000)}`,
  );
  const responses = seedsOf(
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n3\r\none\r\n4;a=b\r\nmore\r\n0\r\nx: y\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Encoding: gzip\r\n\r\nuntil the end",
  );
  const policies = docExamples().map(({ text }) => Buffer.from(text));
  const agent = [
    question(3, 0, auth()),
    question(3, 0, auth({ ClientId: "x".repeat(100) }, { AuthToken: "a".repeat(60) })),
    question(5, 1, { Id: "", Proto: "https", Opts: { Hostname: "a.apps.example.com" }, Extra: {} }),
    question(7, 4, { Labels: { app: "web" } }),
    question(9, 0x7fffffff, {}),
  ];
  const ok = Buffer.from([0x88]);
  const h2Responses = [
    h2Frame(types.headers, flags.endHeaders | flags.endStream, 1, ok),
    h2Frame(types.headers, flags.endHeaders, 1, Buffer.concat([ok, block([["content-length", "5"]])])),
    h2Frame(types.headers, flags.endHeaders, 1, Buffer.concat([ok, block([["content-type", "text/html"]])])),
    h2Frame(types.data, 0, 1, Buffer.from("hello")),
    h2Frame(types.data, flags.endStream, 1, Buffer.alloc(1000, "a")),
    h2Frame(types.headers, flags.endHeaders | flags.endStream, 1, block([["x-trailer", "1"]])),
    h2Frame(types.continuation, flags.endHeaders, 1, block([["x", "y"]])),
    h2Frame(types.windowUpdate, 0, 0, uint32(1000)),
    h2Frame(types.settings, 0, 0, settings([4, 100_000])),
    h2Frame(types.rstStream, 0, 1, uint32(7)),
    h2Frame(types.ping, 0, 0, Buffer.alloc(8)),
    h2Frame(types.goaway, 0, 0, Buffer.alloc(8)),
  ];
  const h2c = await startHttp2Service(busy);
  return {
    http1: { seeds: http1, send: (bytes) => overTls(busy, "http/1.1", edge.https.port, bytes) },
    pipelined: {
      seeds: http1,
      make(random) {
        const request = mutate(random.pick(http1), http1, random).subarray(0, 20_000);
        return Buffer.concat(Array.from({ length: 20 }, () => request));
      },
      send: (bytes) => overTls(busy, "http/1.1", edge.https.port, bytes),
    },
    // A path of 16 KB in the client's table is one byte of each further request.
    indexed: {
      seeds: [],
      make(random) {
        const unit = random.pick(["%2e", "%2E%2e/", "a/../", "//", "%41", "a", ";x=%2f", "?a=", "&x=1", "%e2%82%ac"]);
        const path = `${random.pick(paths)}/${unit.repeat(4000)}`.slice(0, 3600 + random.below(100));
        const first = h2Frame(types.headers, flags.endHeaders | flags.endStream, 1, block(fields(path), 0x40));
        const again = Buffer.from([0xc3, 0xc2, 0xc1, 0xc0, 0xbf, 0xbe]);
        const further = Array.from({ length: 90 }, (_, at) =>
          h2Frame(types.headers, flags.endHeaders | flags.endStream, 3 + 2 * at, again),
        );
        return Buffer.concat([begun, first, ...further]);
      },
      send: (bytes) => overTls(busy, "h2", edge.https.port, bytes),
    },
    http2: {
      seeds: h2,
      make(random) {
        const frames = Array.from({ length: 1 + random.below(8) }, () => random.pick(h2));
        return Buffer.concat([begun, ...frames.map((one) => (random.below(2) === 0 ? one : mutate(one, h2, random)))]);
      },
      send: (bytes) => overTls(busy, "h2", edge.https.port, bytes),
    },
    hello: { seeds: [hello], send: (bytes) => overTcp(edge.https.port, bytes) },
    plain: { seeds: http1, send: (bytes) => overTcp(edge.http?.port ?? 0, bytes) },
    agent: { seeds: agent, send: (bytes) => overTls(busy, undefined, edge.agent.port, bytes) },
    // After a valid authentication.
    connected: {
      seeds: agent,
      make: (random) =>
        Buffer.concat([question(1, 0, auth({}, { AuthToken: busy.token })), mutate(random.pick(agent), agent, random)]),
      send: (bytes) => overTls(busy, undefined, edge.agent.port, bytes),
    },
    extensions: {
      seeds: [],
      make: (random) => withExtensions(hello, random),
      send: (bytes) => overTcp(edge.https.port, bytes),
    },
    webSocket: {
      seeds: webSocketFrames,
      make: (random) => Buffer.concat([upgradeRequest, mutate(random.pick(webSocketFrames), webSocketFrames, random)]),
      send: (bytes) => overTls(busy, "http/1.1", edge.https.port, bytes),
    },
    http2Response: { seeds: h2Responses, make: framesOf(h2Responses), send: (bytes) => h2c.answer(bytes) },
    response: { seeds: responses, send: (bytes) => fromService(busy, bytes) },
    filter: {
      seeds: seedsOf(
        "obj.hostports.exists(h, h.startsWith('a')) && obj.routes.all(r, r.match != '')",
        "obj.created_at > '2026-01-01T00:00:00Z' || obj.metadata.contains('x')",
        "obj.id in ['a', 'b'] && !(obj.description == null)",
      ),
      send: (bytes) => filtered(bytes.toString()),
      isBudgeted: true,
    },
    policy: { isBudgeted: true, seeds: policies, send: (bytes) => underPolicy(busy, bytes.toString()) },
    expression: {
      isBudgeted: true,
      seeds: [],
      make: expressionPolicy,
      send: (bytes) => underPolicy(busy, bytes.toString()),
    },
  };
}

/** Valid and mutated frames after SETTINGS. */
function framesOf(frames: readonly Buffer[]): (random: Random) => Buffer {
  return (random) => {
    const some = Array.from({ length: 1 + random.below(8) }, () => random.pick(frames));
    const sent = some.map((one) => (random.below(2) === 0 ? one : mutate(one, frames, random)));
    return Buffer.concat([h2Frame(types.settings, 0, 0), ...sent]);
  };
}

/** Starts a service behind an agent that supports only HTTP/2. Each connection gets the same bytes for any request. */
async function startHttp2Service(busy: BusyEdge): Promise<{ answer(bytes: Buffer): Promise<void> }> {
  let bytes: Buffer = Buffer.alloc(0);
  const service = await startTcpService((socket) => socket.on("error", () => {}).once("data", () => socket.end(bytes)));
  const agent = await connectAgent(busy.edge, busy.token, service.port, false);
  const hostname = "h2c.apps.example.com";
  await agent.bind({ hostname, forwardsProto: "http2" });
  return {
    async answer(given) {
      bytes = given;
      await busy.ask("h2", { host: hostname }).catch(() => "the answer was cut");
    },
  };
}

/** Returns a service's whole response to a request. */
export async function fromService(busy: BusyEdge, bytes: Buffer): Promise<void> {
  const service = await startTcpService((socket) => socket.once("data", () => socket.end(bytes)));
  const address = `127.0.0.1:${service.port}`;
  busy.edge.put({ kind: "static_backend", id: "bkdsc_hostile", doc: { address, tls: { enabled: false } } });
  const match = { edge_id: "edghts_1", match_type: "path_prefix", match: "/hostile" };
  const modules = {
    compression: { enabled: true },
    response_headers: { enabled: true, add: { a: "b" }, remove: ["c"] },
  };
  const doc = { ...match, backend: { enabled: true, backend_id: "bkdsc_hostile" }, ...modules };
  busy.edge.put({ kind: "https_edge_route", id: "edghtsrt_hostile", doc });
  const headers = { "accept-encoding": "gzip" };
  await busy.ask("h1", { path: "/hostile", headers }).catch(() => "the answer was cut");
  await service.stop();
}

/** Compiles a filter of the management API, and applies it to an object with nested fields. */
export async function filtered(text: string): Promise<void> {
  const routes = Array.from({ length: 50 }, (_, at) => ({ id: `r${at}`, match: `/${at}`, match_type: "path_prefix" }));
  const object = {
    id: "a",
    created_at: "2026-01-02T00:00:00Z",
    hostports: ["a:443", "b:443"],
    metadata: "xyz",
    routes,
  };
  try {
    parseFilter(text, filterEnvironment(httpsEdge.fields, false))(object);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/** Returns a ClientHello with changed extensions and correct lengths around them. */
function withExtensions(hello: Buffer, random: Random): Buffer {
  // Record header, handshake header, version and random; then three vectors: session id, cipher suites, compression methods.
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const before = hello.subarray(9, at);
  const list = hello.subarray(at + 2);
  const extensions: Buffer[] = [];
  for (let from = 0; from + 4 <= list.length; from += 4 + list.readUInt16BE(from + 2)) {
    extensions.push(list.subarray(from, from + 4 + list.readUInt16BE(from + 2)));
  }
  const changed = Array.from({ length: 1 + random.below(60) }, () => {
    const one = random.pick(extensions);
    const body = random.below(2) === 0 ? one.subarray(4) : mutate(one.subarray(4), extensions, random).subarray(0, 200);
    return Buffer.concat([one.subarray(0, 2), sized(body, 2)]);
  });
  const handshake = sized(Buffer.concat([before, sized(Buffer.concat(changed), 2)]), 3);
  return Buffer.concat([hello.subarray(0, 3), sized(Buffer.concat([hello.subarray(5, 6), handshake]), 2)]);
}

/** Prefixes the bytes with their length, a number of this many bytes. */
function sized(bytes: Buffer, lengthBytes: number): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(bytes.length, 0, lengthBytes);
  return Buffer.concat([length, bytes]);
}

/** Sets a policy on a route, and sends a request there. */
export async function underPolicy(busy: BusyEdge, text: string): Promise<void> {
  const backend = { enabled: true, backend_id: "bkdhr_1" };
  const match = { edge_id: "edghts_1", match_type: "path_prefix", match: "/tried" };
  const doc = { ...match, backend, traffic_policy: { enabled: true, value: text } };
  busy.edge.put({ kind: "https_edge_route", id: "edghtsrt_tried", doc });
  const { revision } = busy.edge;
  await busy.edge.report((message) => message.type === "applied" && message.revision === revision);
  const headers = { cookie: "a=1; b=2", "x-list": ["1", "2"], "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };
  await busy.ask("h1", {
    path: `/tried?x=${"1&x=".repeat(200)}&y=%41`,
    headers,
    method: "POST",
    body: '{"a": [1, {"b": 2}]}',
  });
}

/**
 * Returns an expression that grows its input step by step, in a rule and in an interpolated value, or variables that do
 * this.
 */
function expressionPolicy(random: Random): Buffer {
  if (random.below(3) === 0) return sharedVariables(random);
  let isList = true;
  let text = random.pick(["[1, 'a']", "req.headers['x-list']", "req.url.query_params['x']", "[]", "[{'a': 1}]"]);
  for (let count = 1 + random.below(24); count > 0; count -= 1) {
    const [step, becomesList]: Step = random.pick(isList ? listSteps : textSteps);
    text += step;
    isList = becomesList;
  }
  const end = isList
    ? random.pick([".size() > 3", ".exists(a, a == a)", ` == ${text}`])
    : ".matches('(a|b|ab)*c{1,50}')";
  const actions = [
    { type: "set-vars", config: { vars: [{ v: `\${${text}}` }] } },
    { type: "log", config: { metadata: { v: `\${${text}}` } } },
  ];
  return Buffer.from(JSON.stringify({ on_http_request: [{ expressions: [`${text}${end}`], actions }, { actions }] }));
}

/** Each variable contains the previous one twice. A few bytes of a policy describe a value of any size. */
function sharedVariables(random: Random): Buffer {
  const make = random.pick(["[$, $]", "{'a': $, 'b': $}", "[[$], $]"]);
  const vars = Array.from({ length: 2 + random.below(40) }, (_, at) => ({
    [`v${at}`]: at === 0 ? "${['x']}" : `\${${make.replaceAll("$", `vars.v${at - 1}`)}}`,
  }));
  const last = `vars.v${vars.length - 1}`;
  const use = random.pick([
    `json.encode(${last})`,
    `string(${last} == ${last})`,
    `string(${last}.flatten().size())`,
    last,
  ]);
  const actions = [
    { type: "set-vars", config: { vars } },
    { type: "log", config: { metadata: { used: `\${${use}}` } } },
  ];
  return Buffer.from(JSON.stringify({ on_http_request: [{ actions }] }));
}

/** Sends bytes, ends this side, and waits for the other side to end. Gives up after a while without an answer. */
export async function overTls(busy: BusyEdge, alpn: string | undefined, port: number, bytes: Buffer): Promise<void> {
  const options = { host: "127.0.0.1", port, servername: host, ca: busy.edge.authority.certificatePem };
  const socket = connectTls({ ...options, ...(alpn && { ALPNProtocols: [alpn] }), rejectUnauthorized: false });
  socket.on("error", () => {}).resume();
  await Promise.race([once(socket, "secureConnect"), once(socket, "close")]);
  await sendAndEnd(socket, bytes);
}

async function overTcp(port: number, bytes: Buffer): Promise<void> {
  const socket = connectTcp({ host: "127.0.0.1", port });
  socket.on("error", () => {}).resume();
  await once(socket, "connect");
  await sendAndEnd(socket, bytes);
}

async function sendAndEnd(socket: ReturnType<typeof connectTcp>, bytes: Buffer): Promise<void> {
  const closed = once(socket, "close");
  socket.write(bytes);
  const timer = setTimeout(() => socket.destroy(), answerMs);
  await closed;
  clearTimeout(timer);
}
