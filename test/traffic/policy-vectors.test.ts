/** The vectors of the traffic policies' specification, on real traffic: client, edge, agent and service. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { parseYamlObject } from "../../src/lib/yaml.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { freePort, visit } from "../support/connections.ts";
import { protocols } from "../support/http-client.ts";
import { connectionEdge } from "../support/objects.ts";
import { startHttpsService, startTcpService } from "../support/services.ts";
import type { HttpsService, TcpService } from "../support/services.ts";
import { jwkOf, makeToken } from "../support/tokens.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent, Received } from "../support/edge-with-agent.ts";
import type { Asked, Protocol } from "../support/http-client.ts";

interface Case {
  readonly client?: string;
  readonly at?: string;
  readonly rand?: number;
  readonly online?: Readonly<Record<string, { readonly body: string }>>;
  readonly request?: {
    readonly method: string;
    readonly target: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  readonly upstream_answer?: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string };
  readonly upstream?: "none" | Expected;
  readonly response?: Expected & { readonly status: number };
  /** The request at the endpoint that it is forwarded to. */
  readonly forwarded?: Forwarded;
  readonly trace?: { readonly rule: number; readonly outcome: string };
  readonly connect?: boolean;
  readonly result?: "open" | "closed";
  readonly event?: { readonly logs: readonly object[] };
}

interface Forwarded {
  readonly to: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Expected {
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string;
}

interface Vector {
  readonly id: string;
  readonly about: string;
  readonly endpoint?: string;
  readonly policy: string;
  readonly upstream_answer?: Case["upstream_answer"];
  readonly cases: readonly Case[];
}

const host = "shop.example.test";
const text = readFileSync(new URL("../support/policy-vectors.yaml", import.meta.url), "utf8");
const vectors = parseYamlObject(
  `vectors:\n${text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n")}`,
)["vectors"] as readonly Vector[];
let random = 0;
/** Longer than any window. */
const restMs = 120_000;
/** How far the case before was in its vector. */
let reachedMs = 0;
let fixture: EdgeWithAgent;
/** Where V13's issuer publishes its keys. */
let issuer: HttpsService;
/** The service behind V19's edge. */
let service: TcpService;
let agent: TestAgent;

before(async () => {
  issuer = await startHttpsService((request, response) => {
    if (request.url !== "/jwks.json") return void response.writeHead(404).end();
    response.setHeader("content-type", "application/jwk-set+json");
    response.end(JSON.stringify({ keys: [jwkOf("RS256", { kid: "a" })] }));
  });
  fixture = await startEdgeWithAgent({
    trustedProxies: ["127.0.0.0/8"],
    random: () => random,
    tcpBind: "127.0.0.1",
    // The issuer is on this machine.
    policyLocalAddresses: true,
    policyCa: issuer.authorityPem,
    limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } },
  });
  fixture.put("https_edge", "edghts_2", { hostports: [`${host}:443`], mutual_tls: null, tls_termination: null });
  service = await startTcpService((socket) => socket.end("open"));
  agent = await connectAgent(fixture.edge, fixture.token, service.port, false);
  await agent.label({ app: "db" });
  fixture.edge.send({
    type: "traffic_wanted",
    wanted: [{ accountId: "ac_1", types: ["tcp_connection_closed.v0"] }],
  });
});
after(async () => {
  agent.close();
  await fixture.stop();
  await service.stop();
  await issuer.stop();
});

it("there are 20 policies with 45 cases", () => {
  assert.equal(vectors.length, 20);
  assert.equal(vectors.flatMap(({ cases }) => cases).length, 45);
});

for (const protocol of protocols) {
  for (const vector of vectors.filter(({ endpoint }) => endpoint === undefined)) {
    describe(`${vector.id} over ${protocol}: ${vector.about}`, () => {
      for (const [at, one] of vector.cases.entries()) it(`case ${at + 1}`, () => play(vector, one, protocol));
    });
  }
}
for (const vector of vectors.filter(({ endpoint }) => endpoint !== undefined)) {
  describe(`${vector.id}: ${vector.about}`, () => {
    for (const [at, one] of vector.cases.entries()) it(`case ${at + 1}`, () => playConnection(vector, one));
  });
}

/** The text with the issuer's real address, and its tokens in their places: `{{token}}`, `{{token with iss …}}`. */
function filled(text: string): string {
  const seconds = Math.floor(fixture.clock.now() / 1000);
  return text
    .replace("https://idp.example.test/jwks.json", `https://localhost:${issuer.port}/jwks.json`)
    .replaceAll(/\{\{token(?: with iss (\S+))?\}\}/g, (_all, iss = "https://idp.example.test/") =>
      makeToken("RS256", { iss: String(iss), aud: "shop", sub: "u1", exp: seconds + 3600 }, { kid: "a" }),
    );
}

async function play(vector: Vector, one: Case, protocol: Protocol): Promise<void> {
  const { client = "203.0.113.9", request, at } = one;
  if (at !== undefined) {
    const ms = Number(at.slice(0, -1)) * 1000;
    // Rate limit windows of an earlier run have expired.
    fixture.clock.move(ms === 0 ? restMs : ms - reachedMs);
    reachedMs = ms;
  }
  random = one.rand ?? 0;
  fixture.put("https_edge_route", "edghtsrt_2", {
    edge_id: "edghts_2",
    match_type: "path_prefix",
    match: "/",
    backend: { enabled: true, backend_id: "bkdtg_1" },
    traffic_policy: { enabled: true, value: filled(vector.policy) },
  });
  const online = Object.entries(one.online ?? {});
  if (one.forwarded) return playForwarded(one, one.forwarded, protocol);
  for (const [at, [url, { body }]] of online.entries()) {
    const traffic_policy = JSON.stringify({
      on_http_request: [
        { actions: [{ type: "custom-response", config: { body, headers: { "x-host": "${req.host}" } } }] },
      ],
    });
    fixture.put("cloud_endpoint", `ep_${at}`, { url, traffic_policy });
  }
  const answer = { ...vector.upstream_answer, ...one.upstream_answer };
  fixture.answer((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain", "x-powered-by": "Node", ...answer.headers });
    response.end(answer.body ?? "up");
  });
  const before = fixture.received.length;
  const asked = await fixture.ask(protocol, {
    host,
    preface: `PROXY TCP4 ${client} 127.0.0.1 40000 443\r\n`,
    method: request?.method ?? "GET",
    path: request?.target ?? "/",
    headers: Object.fromEntries(
      Object.entries(request?.headers ?? {}).map(([name, value]) => [name, filled(value)] as const),
    ),
    ...(request?.body !== undefined && { body: request.body }),
  });
  const reached = fixture.received[before];
  if (one.upstream === "none") assert.equal(reached, undefined, "the upstream was reached");
  else if (one.upstream !== undefined) checkRequest(reached, one.upstream);
  checkResponse(asked, one.response);
  if (one.trace) await checkTrace(asked, one.trace);
  if (online.length > 0) assert.equal(asked.headers["x-host"], host, "the Host field is not the first endpoint's");
  for (const at of online.keys()) fixture.edge.remove("cloud_endpoint", `ep_${at}`);
}

/** The destination is an agent's endpoint, whose service records the request. */
async function playForwarded(one: Case, wanted: Forwarded, protocol: Protocol): Promise<void> {
  const { body } = one.online?.[wanted.to] ?? {};
  fixture.answer((_request, response) => response.end(body));
  const { id } = await fixture.agent.bind({ hostname: new URL(wanted.to).hostname });
  const asked = await fixture.ask(protocol, {
    host,
    preface: `PROXY TCP4 203.0.113.9 127.0.0.1 40000 443\r\n`,
    path: one.request?.target ?? "/",
  });
  checkResponse(asked, one.response);
  checkRequest(fixture.received.at(-1), { headers: { ...wanted.headers, host: wanted.host } });
  await fixture.agent.session.unbind(id);
}

/** The rule that is named could not be decided. */
async function checkTrace({ id }: Asked, { rule, outcome }: NonNullable<Case["trace"]>): Promise<void> {
  assert.equal(outcome, "error");
  const told = await fixture.edge.question({ name: "request", accountId: "ac_1", id });
  const steps = told.name === "requests" ? (told.requests[0]?.steps ?? []) : [];
  const step = steps.find(({ reason }) => reason.startsWith(`on_http_request[${rule}]`));
  assert.match(step?.reason ?? "", /expression 1 failed/);
}

async function playConnection(vector: Vector, one: Case): Promise<void> {
  const { client = "203.0.113.9" } = one;
  const port = await freePort();
  const traffic_policy = { enabled: true, value: vector.policy };
  for (const object of connectionEdge("tcp_edge", "db", [`edge.example.test:${port}`], { traffic_policy })) {
    fixture.put(object.kind, object.id, object.doc);
  }
  const before = service.connections.length;
  const { text } = await visit(port, `PROXY TCP4 ${client} 127.0.0.1 40000 ${port}\r\n`);
  assert.equal(text, one.result === "open" ? "open" : "");
  assert.equal(service.connections.length - before, one.result === "open" ? 1 : 0);
  if (!one.event) return;
  const report = await fixture.edge.report(
    (message) => message.type === "traffic" && message.reports.some((told) => "logs" in told && told.logs.length > 0),
  );
  assert.ok(report.type === "traffic");
  const logs = report.reports.flatMap((told) => ("logs" in told ? told.logs : []));
  // A value that is exactly one expression keeps its type.
  assert.deepEqual(
    logs.map((entry) => Object.fromEntries(Object.entries(entry).map(([name, value]) => [name, String(value)]))),
    one.event.logs,
  );
}

function checkRequest(reached: Received | undefined, wanted: Expected): void {
  assert.ok(reached, "the upstream was not reached");
  if (wanted.target !== undefined) assert.equal(reached.url, wanted.target);
  if (wanted.body !== undefined) assert.equal(reached.body.toString(), wanted.body);
  checkHeaders(reached.headers, wanted.headers);
}

function checkResponse(asked: Asked, wanted: Case["response"]): void {
  if (!wanted) return;
  assert.equal(asked.status, wanted.status, asked.body.toString());
  if (wanted.body !== undefined) assert.equal(asked.body.toString(), wanted.body);
  checkHeaders(asked.headers, wanted.headers);
}

function checkHeaders(given: Asked["headers"], wanted: Expected["headers"] = {}): void {
  for (const [name, value] of Object.entries(wanted)) {
    const is = given[name];
    if (value === null) assert.equal(is, undefined, name);
    else if (value.startsWith("~")) assert.match(String(is), new RegExp(value.slice(1)), name);
    // Codings and the names of fields are written in any case (RFC 9110 §8.4, §12.5.5).
    else assert.equal(String(is).toLowerCase(), value.toLowerCase(), name);
  }
}
