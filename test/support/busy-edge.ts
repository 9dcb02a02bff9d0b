/**
 * An edge with every kind of site, module, login and policy, a real agent, and visits that use all of them. Fault and
 * load tests send these visits while something fails.
 */
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { stringify } from "yaml";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import type { EdgeOptions } from "../../src/edge/edge-options.ts";
import type { AgentEndpoint } from "../../src/routing/planes/edge-questions.ts";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { dialPort, freePort, readToEnd, visit } from "./connections.ts";
import { startTestEdge } from "./edge.ts";
import type { TestEdge } from "./edge.ts";
import { protocols } from "./http-client.ts";
import type { AskOptions, Protocol } from "./http-client.ts";
import { flowKeyObject, sessionOf } from "./logins.ts";
import { movableClock } from "./clock.ts";
import { certificateAuthority, connectionEdge, ipPolicy, ipRestriction, newCredential } from "./objects.ts";
import { startOurAgent } from "./our-agent.ts";
import { startHttpService, startTcpService } from "./services.ts";
import { switching } from "./upgraded.ts";
import { opcodes, openWebSocket } from "./websocket.ts";

/** One action of a visitor. Resolves with its outcome; rejects if the connection broke. */
export interface Visit {
  readonly name: string;
  readonly run: () => Promise<string>;
}

export interface BusyEdge {
  readonly edge: TestEdge;
  /** Token of the agents. */
  readonly token: string;
  readonly visits: readonly Visit[];
  /** Resolves when agents of both kinds are connected and their tunnels are usable. */
  ready(): Promise<void>;
  /** Sends a plain request to the agent's service, over either version of HTTP. */
  ask(protocol: Protocol, options?: Partial<AskOptions>): Promise<string>;
  /** Client certificate for `mutual.example.com`. */
  readonly certificate: { readonly cert: string; readonly key: string };
  /** Returns the endpoints of the agents. */
  endpoints(): Promise<readonly AgentEndpoint[]>;
  stop(): Promise<void>;
}

export const host = "app.example.com";
const account = "ac_1";
const secret = "webhook-secret";
const lists = { scopes: [], email_addresses: [], email_domains: [] };
const times = { inactivity_timeout: 0, maximum_duration: 0, auth_check_interval: 0 };
const login = { enabled: true, options_passthrough: false, cookie_prefix: "s.", ...times };
const github = { client_id: "c", client_secret: "s", ...lists, organizations: [], teams: [] };

const policy = {
  on_http_request: [
    {
      name: "variables",
      expressions: [
        "req.url.path.startsWith('/policy')",
        "!('x' in req.headers) || req.headers['x'].all(v, v.matches('^[a-z]*$'))",
        "size(req.cookies) < 100 && conn.client_ip != '' && req.url.query_params.all(k, k.size() < 5000)",
      ],
      actions: [
        { type: "set-vars", config: { vars: [{ path: "${req.url.path}" }, { list: "${[1, 2].map(n, n + 1)}" }] } },
        { type: "add-headers", config: { headers: { "x-path": "${vars.path}", "x-agent": "${req.user_agent.name}" } } },
        { type: "remove-headers", config: { headers: ["x-secret"] } },
        { type: "log", config: { metadata: { seen: "${req.method} ${vars.list.size()}" } } },
        {
          type: "rate-limit",
          config: {
            name: "all",
            algorithm: "sliding_window",
            capacity: 100_000,
            rate: "60s",
            bucket_key: ["conn.client_ip"],
          },
        },
        { type: "url-rewrite", config: { from: "/policy/old/(.*)", to: "/policy/new/$1" } },
        { type: "restrict-ips", config: { enforce: true, allow: ["127.0.0.0/8"] } },
      ],
    },
    { expressions: ["req.url.path == '/policy/moved'"], actions: [{ type: "redirect", config: { to: "/policy" } }] },
    { expressions: ["req.url.path == '/policy/no'"], actions: [{ type: "deny", config: { status_code: 403 } }] },
    {
      expressions: ["req.url.path == '/policy/body'"],
      actions: [
        {
          type: "request-body-find-replace",
          config: { replacements: [{ from: "one", to: "two" }] },
        },
      ],
    },
    {
      expressions: ["req.url.path == '/policy/said'"],
      actions: [{ type: "custom-response", config: { status_code: 200, body: "said ${req.method}" } }],
    },
    {
      expressions: ["req.url.path == '/policy/basic'"],
      actions: [{ type: "basic-auth", config: { credentials: ["ada:password-of-ada"] } }],
    },
    {
      expressions: ["req.url.path == '/policy/token'"],
      actions: [
        {
          type: "jwt-validation",
          config: {
            issuer: { allow_list: [{ value: "https://issuer.example.com" }] },
            audience: { allow_list: [{ value: "app" }] },
            http: { tokens: [{ type: "jwt", method: "header", name: "Authorization", prefix: "Bearer " }] },
            jws: {
              allowed_algorithms: ["RS256"],
              keys: { sources: { additional_jkus: ["https://issuer.example.com/keys"] } },
            },
          },
        },
      ],
    },
  ],
  on_http_response: [
    {
      actions: [
        { type: "add-headers", config: { headers: { "x-status": "${res.status_code}" } } },
        { type: "response-body-find-replace", config: { replacements: [{ from: "served", to: "replaced" }] } },
        { type: "compress-response", config: { algorithms: ["gzip"] } },
      ],
    },
  ],
};

const connectionPolicy = {
  on_tcp_connect: [
    {
      expressions: ["conn.client_ip.startsWith('127.')"],
      actions: [{ type: "log", config: { metadata: { from: "${conn.client_ip}" } } }],
    },
  ],
};

/** @param more options of the edge */
export async function startBusyEdge(more: Partial<EdgeOptions> = {}): Promise<BusyEdge> {
  const clock = movableClock();
  const { token, object } = newCredential();
  const tcpPort = await freePort();
  const now = Date.now();
  const authority = await createAuthority({ commonName: "Clients", now });
  const alice = await issueLeaf(authority, { names: ["alice"], now, days: 1, usages: ["clientAuth"] });
  const realm = { siteId: "edghts_1", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "s." };
  const session = sessionOf(clock, realm, { host });
  const edge = await startTestEdge([object, certificateAuthority("ca_1", authority.certificatePem)], {
    clock,
    tcpBind: "127.0.0.1",
    allowLocalUpstreams: true,
    drainMs: 100,
    limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } },
    ...more,
  });
  const service = await startHttpService((request, response) => {
    const received: Buffer[] = [];
    request.on("data", (bytes: Buffer) => received.push(bytes));
    request.once("end", () => {
      const { url = "", headers } = request;
      response.statusCode = Number(/status=(\d+)/.exec(url)?.[1] ?? 200);
      // Shows the visitor what the service received.
      if (url.includes("echo")) {
        response.end(JSON.stringify({ url, headers, body: Buffer.concat(received).toString() }));
        return;
      }
      const length = Number(/size=(\d+)/.exec(request.url ?? "")?.[1] ?? 0);
      response.setHeader("content-type", "text/plain");
      response.end(length > 0 ? Buffer.alloc(length, "served ") : "served");
    });
  });
  service.server.on("upgrade", (request, socket: Socket) => {
    socket.on("error", () => {});
    socket.write(switching(request));
    socket.pipe(socket);
  });
  const echo = await startTcpService((socket) => socket.pipe(socket));
  const put = (kind: string, id: string, doc: Readonly<Record<string, unknown>>): void => edge.put({ kind, id, doc });
  const at = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token };
  // Tests close several sessions in a row, which must not lengthen the agents' pauses: at most 75 ms.
  const agent = { random: () => -0.99 };
  const agents = [
    await startOurAgent(at, { upstream: service.port, labels: { app: "web" }, agent }),
    await startOurAgent(at, { upstream: service.port, url: "https://own.apps.example.com", agent }),
    await startOurAgent(at, { upstream: echo.port, labels: { app: "tcp" }, agent, tunnel: { proto: "tcp" } }),
  ];
  configure();

  const ask = async (protocol: Protocol, options: Partial<AskOptions> = {}): Promise<string> => {
    const { status, text } = await edge.ask(protocol, { host, ...options });
    return `${status} ${text.slice(0, 40)}`;
  };
  const cookie = session.cookie.join("=");
  const body = Buffer.from('{"hook":1}');
  const { headers: hook } = signSample("slack", { secret, body, url: `https://${host}/hook`, now: clock.now() });
  const requests: readonly (readonly [name: string, options: Partial<AskOptions>])[] = [
    ["plain", {}],
    ["upload", { method: "POST", body: Buffer.alloc(100_000, "x"), path: "/upload" }],
    ["large response, compressed", { path: "/?size=300000", headers: { "accept-encoding": "gzip" } }],
    ["canonical path", { path: "/a/./b/../c%41?x=%31" }],
    ["unknown host", { host: "unknown.example.com" }],
    ["agent's own host", { host: "own.apps.example.com" }],
    ["fixed response", { path: "/fixed" }],
    ["static backend", { path: "/static" }],
    ["dead backend", { path: "/dead" }],
    ["login without a session", { path: "/login", headers: { accept: "text/html" } }],
    ["login with a session", { path: "/login", headers: { cookie } }],
    ["login with a false cookie", { path: "/login", headers: { cookie: `${session.cookie[0]}=no; a=b` } }],
    ["false callback", { host: "idp.apps.example.com", path: "/oauth2/callback?code=1&state=2" }],
    ["OpenID Connect", { path: "/oidc", headers: { accept: "text/html" } }],
    ["webhook", { method: "POST", path: "/hook", body: '{"hook":1}', headers: hook }],
    ["false webhook", { method: "POST", path: "/hook", body: '{"hook":2}', headers: hook }],
    ["policy", { path: "/policy/old/1?x=1&y=2", headers: { x: "abc", cookie: "a=1; b=2" } }],
    ["policy: redirect", { path: "/policy/moved" }],
    ["policy: deny", { path: "/policy/no" }],
    ["policy: response", { path: "/policy/said" }],
    ["policy: password", { path: "/policy/basic", headers: { authorization: "Basic YWRhOnBhc3N3b3JkLW9mLWFkYQ==" } }],
    ["policy: token", { path: "/policy/token", headers: { authorization: "Bearer a.b.c" } }],
    ["MCP: unknown session", { path: "/mcp", headers: { "mcp-session-id": "1" } }],
    ["policy: body", { path: "/policy/body", method: "POST", body: "one and one" }],
  ];
  const visits: Visit[] = protocols.flatMap((protocol): Visit[] => [
    ...requests.map(([name, options]) => ({ name: `${protocol}: ${name}`, run: () => ask(protocol, options) })),
    { name: `${protocol}: WebSocket`, run: () => webSocket(protocol, "/") },
    { name: `${protocol}: WebSocket to TCP`, run: () => webSocket(protocol, "/tcp") },
  ]);
  visits.push(
    { name: "plain HTTP", run: async () => (await visit(edge.edge.http?.port ?? 0, requestText("/"))).text },
    { name: "no HTTP", run: async () => (await visit(edge.edge.http?.port ?? 0, "\0\0\r\n\r\n")).text },
    { name: "TCP edge", run: () => echoed(tcpPort) },
    { name: "no TLS", run: async () => (await visit(edge.edge.https.port, "GET / HTTP/1.1\r\n\r\n")).text },
    { name: "TLS edge", run: () => overTls("db.example.com", edge.authority.certificatePem) },
    { name: "client certificate", run: () => withCertificate() },
    { name: "no agent", run: async () => (await visit(edge.edge.agent.port, "hello")).text },
    {
      name: "explanation",
      run: async () => {
        const request = {
          method: "GET",
          host,
          target: "/policy",
          headers: [],
          source: "127.0.0.1",
          body: "",
          response: undefined,
        };
        const asked = { name: "explain_request", accountId: account, siteId: "edghts_1", request } as const;
        return (await edge.question(asked)).name;
      },
    },
  );

  return {
    edge,
    token,
    visits,
    certificate: { cert: alice.certificatePem, key: alice.keyPem },
    ask,
    async endpoints() {
      const answer = await edge.question({ name: "agent_endpoints", accountId: account });
      return answer.name === "agent_endpoints" ? answer.endpoints : [];
    },
    async ready() {
      const isServed = async (protocol: Protocol): Promise<void> => {
        for (;;) {
          const answers = await Promise.all([
            ask(protocol).catch(() => ""),
            ask(protocol, { host: "own.apps.example.com" }).catch(() => ""),
            echoed(tcpPort).catch(() => ""),
          ]);
          if (answers.every((one) => /served|echo/.test(one))) return;
        }
      };
      await Promise.all(protocols.map(isServed));
    },
    async stop() {
      for (const one of agents) await one.close();
      await edge.edge.stop();
      await service.stop();
      await echo.stop();
    },
  };

  function configure(): void {
    const key = flowKeyObject(clock.now());
    put(key.kind, key.id, key.doc);
    put(session.object.kind, session.object.id, session.object.doc);
    for (const one of ipPolicy("ipp_1", { "127.0.0.0/8": "allow" })) put(one.kind, one.id, one.doc);
    put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } });
    put("static_backend", "bkdsc_1", { address: `127.0.0.1:${service.port}`, tls: { enabled: false } });
    put("static_backend", "bkdsc_dead", { address: "127.0.0.1:1", tls: { enabled: false } });
    put("http_response_backend", "bkdhr_1", { status_code: 418, headers: { "x-fixed": "1" }, body: "short" });
    put("failover_backend", "bkdfo_1", { backends: ["bkdsc_dead", "bkdhr_1"] });
    put("https_edge", "edghts_1", { hostports: [`${host}:443`], mutual_tls: null, tls_termination: null });
    const mutual = { enabled: true, certificate_authority_ids: ["ca_1"] };
    put("https_edge", "edghts_m", { hostports: ["mutual.example.com:443"], mutual_tls: mutual, tls_termination: null });
    const modules = {
      ip_restriction: ipRestriction("ipp_1"),
      user_agent_filter: { enabled: true, allow: [".*"], deny: ["(?i)evil.*bot"] },
      circuit_breaker: {
        enabled: true,
        tripped_duration: 10,
        rolling_window: 10,
        num_buckets: 10,
        volume_threshold: 1_000_000,
        error_threshold_percentage: 1,
      },
      request_headers: { enabled: true, add: { "x-added": "1" }, remove: ["x-removed"] },
      compression: { enabled: true },
      response_headers: { enabled: true, add: { "x-response": "1" }, remove: ["server"] },
    };
    const oauth = { ...login, provider: { github } };
    const oidc = { ...login, issuer: "https://127.0.0.1:1", client_id: "c", client_secret: "s", scopes: [] };
    route("/", "bkdtg_1", modules);
    route("/static", "bkdsc_1", modules);
    route("/fixed", "bkdhr_1", {});
    route("/dead", "bkdfo_1", modules);
    route("/login", "bkdtg_1", { ...modules, oauth });
    route("/oidc", "bkdtg_1", { ...modules, oidc });
    route("/hook", "bkdtg_1", { ...modules, webhook_verification: { enabled: true, provider: "slack", secret } });
    route("/policy", "bkdtg_1", { ...modules, traffic_policy: { enabled: true, value: stringify(policy) } });
    route("/tcp", "bkdtg_tcp", { websocket_tcp_converter: { enabled: true } });
    route("/mcp", "bkdtg_1", { mcp: { enabled: true } });
    route("/", "bkdtg_1", {}, "edghts_m");
    const guarded = {
      ip_restriction: ipRestriction("ipp_1"),
      traffic_policy: { enabled: true, value: stringify(connectionPolicy) },
    };
    for (const one of [
      ...connectionEdge("tcp_edge", "tcp", [`db.example.com:${tcpPort}`], guarded),
      ...connectionEdge("tls_edge", "tls", ["db.example.com:443"], {
        ...guarded,
        mutual_tls: null,
        tls_termination: { enabled: true, terminate_at: "edge", min_version: null },
      }),
    ]) {
      put(one.kind, one.id, one.kind === "tunnel_group_backend" ? { labels: { app: "tcp" } } : one.doc);
    }
  }

  function route(match: string, backendId: string, modules: object, edgeId = "edghts_1"): void {
    const id = `edghtsrt_${edgeId}_${match.slice(1)}`;
    const backend = { enabled: true, backend_id: backendId };
    put("https_edge_route", id, { edge_id: edgeId, match_type: "path_prefix", match, backend, ...modules });
  }

  async function webSocket(protocol: Protocol, path: string): Promise<string> {
    const connect: TestEdge["connect"] = (given, options) => edge.connect(given, options);
    const client = await openWebSocket(
      { connect: (given, options) => connect(given, { host, ...options }) },
      protocol,
      {
        path,
      },
    );
    try {
      client.send(opcodes.binary, "hello");
      return (await client.next()).payload.toString();
    } finally {
      client.destroy();
    }
  }

  async function overTls(servername: string, ca: string): Promise<string> {
    const socket = connectTls({ host: "127.0.0.1", port: edge.edge.https.port, servername, ca });
    const ended = readToEnd(socket);
    socket.end("echo");
    const { text, error } = await ended;
    if (error !== undefined) throw new Error(error);
    return text;
  }

  async function withCertificate(): Promise<string> {
    const tls = { cert: alice.certificatePem, key: alice.keyPem };
    return await ask("h1", { host: "mutual.example.com", tls });
  }
}

function requestText(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
}

async function echoed(port: number): Promise<string> {
  const socket = await dialPort(port);
  const ended = readToEnd(socket);
  socket.end("echo");
  const { text, error } = await ended;
  socket.destroy();
  if (error !== undefined) throw new Error(error);
  return text;
}
