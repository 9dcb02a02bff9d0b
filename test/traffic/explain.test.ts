/** A dry run predicts exactly what happens on real sockets. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { ExplanationReport, RequestTrace } from "../../src/routing/planes/edge-questions.ts";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked, Protocol } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";
import { seededRandom } from "../support/random.ts";
import type { Random } from "../support/random.ts";

const account = "ac_1";
let fixture: EdgeWithAgent;
let second: TestAgent;

before(async () => {
  fixture = await startEdgeWithAgent({
    allowLocalUpstreams: true,
    limits: { traces: { sampled: { perSecond: 1e6, burst: 1e6 } } },
  });
  second = await connectAgent(fixture.edge, fixture.token, fixture.servicePort);
  await second.label({ app: "web", more: "yes" });
  const { put, servicePort } = fixture;
  const rules = { "127.0.0.0/8": "allow", "127.0.0.2/32": "deny" } as const;
  for (const one of ipPolicy("ipp_1", rules)) put(one.kind, one.id, one.doc);
  put("tunnel_group_backend", "bkdtg_none", { labels: { app: "none" } });
  put("static_backend", "bkdsc_1", { address: `127.0.0.1:${servicePort}`, tls: { enabled: false } });
  put("http_response_backend", "bkdhr_1", { status_code: 418, headers: { "x-fixed": "1" }, body: "short" });
  put("failover_backend", "bkdfo_1", { backends: ["bkdtg_none", "bkdtg_1", "bkdhr_1"] });
  put("weighted_backend", "bkdwd_1", { backends: { bkdtg_1: 3, bkdhr_1: 2, bkdtg_none: 1, bkdsc_1: 0 } });
  put("failover_backend", "bkdfo_none", { backends: ["bkdtg_none"] });
});
after(async () => {
  second.close();
  await fixture.stop();
});

interface Described {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly source: string;
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

async function explained(described: Described): Promise<ExplanationReport> {
  const { method, path, headers, body, source, answer } = described;
  const told = await fixture.edge.question({
    name: "explain_request",
    accountId: account,
    siteId: "edghts_1",
    request: {
      method,
      host,
      target: path,
      headers: Object.entries(headers),
      source,
      body,
      response: { status: answer.status, headers: Object.entries(answer.headers), body: answer.body },
    },
  });
  if (told.name !== "explanation") throw new Error(told.name);
  return told.explanation;
}

async function traceOf({ id }: Asked): Promise<RequestTrace> {
  const told = await fixture.edge.question({ name: "request", accountId: account, id });
  const [trace] = told.name === "requests" ? told.requests : [];
  assert.ok(trace, `no trace of request ${id}`);
  return trace;
}

async function happened(
  protocol: Protocol,
  { method, path, headers, body, source, answer }: Described,
): Promise<Asked> {
  fixture.answer((_request, response) => {
    response.sendDate = false;
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  });
  return await fixture.ask(protocol, { method, path, headers, source, ...(body !== "" && { body }) });
}

describe("explain", () => {
  for (const protocol of protocols) {
    it(`explain predicts exactly what happens over ${protocol}, for random configurations and requests`, async () => {
      const random = seededRandom(protocol === "h1" ? 7 : 8);
      const seen = new Map<string, number>();
      for (let round = 0; round < 40; round += 1) {
        configure(random);
        for (let step = 0; step < 12; step += 1) {
          fixture.clock.move(random.below(2500));
          const described = randomRequest(random);
          const reached = fixture.received.length;
          // No time window may end between prediction and request.
          const [told, real] = await fixture.clock.hold(
            async () => [await explained(described), await happened(protocol, described)] as const,
          );
          const trace = await traceOf(real);
          const about = JSON.stringify({ described, told, trace });
          assert.equal(told.outcome, trace.outcome, about);
          assert.equal(told.errorCode, trace.errorCode, about);
          assert.equal(told.route?.id, trace.routeId, about);
          // Only a dry run reports the values that decided.
          assert.deepEqual(
            told.steps.map(({ rule: _rule, ...step }) => step),
            trace.steps,
            about,
          );
          assert.equal(real.status, told.status ?? told.response?.status, about);
          // A response rule may refuse the service's response.
          assert.equal(fixture.received.length - reached, told.response === undefined ? 0 : 1, about);
          const last = told.steps.at(-1);
          seen.set(`${last?.by} ${last?.outcome}`, (seen.get(`${last?.by} ${last?.outcome}`) ?? 0) + 1);
          const reasons = told.steps.map(({ reason }) => reason).join();
          if (reasons.includes("response-body-find-replace: replaced")) seen.set("body replaced", 1);
          if (/messages .*, [1-9]\d* changed/.test(reasons)) seen.set("messages changed", 1);
          if (told.outcome !== "forwarded") continue;
          assert.deepEqual(told.requestHeaders.map(joined).sort(), arrived(), about);
          const lines = Map.groupBy(told.response?.headers ?? [], ([name]) => name);
          for (const [name, values] of lines) {
            assert.equal(String(real.headers[name]), values.map(([, value]) => value).join(", "), about);
          }
        }
      }
      // The random rounds must cover these cases.
      for (const wanted of [
        "router denied",
        "ip_restriction denied",
        "user_agent_filter denied",
        "webhook_verification denied",
        "traffic_policy denied",
        "traffic_policy answered",
        "circuit_breaker denied",
        "websocket_tcp_converter denied",
        "backend answered",
        "backend passed",
        "compression changed",
        "body replaced",
        "messages changed",
        "response_headers changed",
      ]) {
        assert.ok((seen.get(wanted) ?? 0) > 0, `${wanted} never occurred: ${JSON.stringify([...seen])}`);
      }
    });
  }

  it("explain has no side effects", async () => {
    for (const id of ["r1", "r2", "r3"]) fixture.edge.remove("https_edge_route", `edghtsrt_${id}`);
    fixture.edge.remove("ip_restriction", "ipx_1");
    fixture.route({
      circuit_breaker: { ...breaker, volume_threshold: 1 },
      backend: { enabled: true, backend_id: "bkdwd_1" },
    });
    fixture.answer(undefined);
    const described = { ...plainRequest, path: "/" };
    const first = await explained(described);
    for (let count = 0; count < 20; count += 1) assert.deepEqual(await explained(described), first);
    assert.deepEqual((await traceOf(await happened("h1", described))).steps.slice(0, 2), first.steps.slice(0, 2));
    const trips = { ...described, answer: { ...described.answer, status: 500 } };
    while ((await happened("h1", trips)).status !== 503) await explained(trips);
    const open = await explained(described);
    assert.equal(open.errorCode, errorCode("circuit_open"));
    fixture.clock.move(5000);
    // Many dry runs find it half-open; the one real request is still the probe.
    for (let count = 0; count < 5; count += 1) {
      assert.match((await explained(described)).steps[1]?.reason ?? "", /half-open/);
    }
    assert.match((await traceOf(await happened("h2", described))).steps[1]?.reason ?? "", /half-open/);
  });

  it("explain reveals nothing about edges of other accounts, and nothing about hosts that the edge does not serve", async () => {
    const request = { method: "GET", target: "/", headers: [], source: "127.0.0.1", body: "", response: undefined };
    const asked = { name: "explain_request", siteId: "edghts_1" } as const;
    const foreign = await fixture.edge.question({ ...asked, accountId: "ac_2", request: { ...request, host } });
    assert.deepEqual(foreign, { name: "unknown" });
    const elsewhere = await fixture.edge.question({
      ...asked,
      accountId: account,
      request: { ...request, host: "b.example" },
    });
    assert.deepEqual(elsewhere, { name: "elsewhere", host: "b.example" });
  });
});

const breaker = {
  enabled: true,
  tripped_duration: 5,
  rolling_window: 10,
  num_buckets: 2,
  volume_threshold: 2,
  error_threshold_percentage: 0.5,
};

const plainRequest: Described = {
  method: "GET",
  path: "/",
  headers: {},
  body: "",
  source: "127.0.0.1",
  answer: { status: 200, headers: { "content-type": "text/plain", "content-length": "2" }, body: "ok" },
};

/** Header fields at the service, without the request id. */
function arrived(): string[] {
  const raw = fixture.received.at(-1)?.rawHeaders ?? [];
  return raw
    .flatMap((name, index) => (index % 2 === 0 ? [joined([name.toLowerCase(), raw[index + 1] as string])] : []))
    .filter((line) => !line.startsWith("x-request-id:"))
    .sort();
}

function joined([name, value]: readonly [string, string]): string {
  return `${name}: ${value}`;
}

function randomRequest(random: Random): Described {
  const body = random.pick(["", "", '{"a":1}']);
  const paths = ["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/A", "/a/../a/./b", "/%61", "/a%2fb", "/x%00", "//a"];
  const signed = signSample("github", { secret: "s", body: Buffer.from(body), url: "", now: 0 }).headers;
  const some = (headers: Readonly<Record<string, string>>, share: number) => (random() < share ? headers : {});
  const type = random.pick(["text/html", "image/png", "text/event-stream"]);
  const text = type === "text/event-stream" ? "data: text\nid: 1\n\n".repeat(60) : "text ".repeat(200);
  return {
    method: body === "" ? random.pick(["GET", "GET", "HEAD", "OPTIONS", "DELETE", "TRACE"]) : "POST",
    path: `${random.pick(paths)}${random.pick(["", "?q=1&r=%20"])}`,
    headers: {
      ...some({ "user-agent": random.pick(["curl/8", "Mozilla/5.0"]) }, 0.8),
      ...some(signed, 0.7),
      ...some({ "accept-encoding": random.pick(["gzip", "br, gzip;q=0.5", "identity"]) }, 0.7),
      ...some({ "x-forwarded-for": "9.9.9.9", x_forwarded_for: "9.9.9.9", "ngrok-auth-user-id": "me" }, 0.3),
      ...some({ "x-own": "1", cookie: "a=b; c=d" }, 0.3),
    },
    body,
    source: random.pick(["127.0.0.1", "127.0.0.2", "127.0.0.3"]),
    answer: {
      status: random.pick([200, 200, 404, 500]),
      headers: {
        "content-type": type,
        "content-length": String(text.length),
        etag: '"1"',
      },
      body: text,
    },
  };
}

function configure(random: Random): void {
  const matches = [
    ["r1", "path_prefix", "/"],
    ["r2", "path_prefix", "/a"],
    ["r3", "exact_path", "/a/b"],
  ] as const;
  for (const [id, match_type, match] of matches) {
    if (random() < 0.8) {
      const doc = { edge_id: "edghts_1", match_type, match, ...randomBlocks(random) };
      fixture.put("https_edge_route", `edghtsrt_${id}`, doc);
    } else {
      fixture.edge.remove("https_edge_route", `edghtsrt_${id}`);
    }
  }
  fixture.edge.remove("https_edge_route", "edghtsrt_1");
  const type = "endpoints";
  fixture.put("ip_restriction", "ipx_1", { type, enforced: random() < 0.2, ip_policy_ids: ["ipp_1"] });
}

/** Rules of every outcome: some hold, some fail, some end the request. */
function randomPolicy(random: Random): object {
  const expressions = [
    "req.method == 'POST'",
    "req.url.path.startsWith('/a')",
    "conn.client_ip == '127.0.0.3'",
    "req.headers['x-own'][0] == '1'",
    "'q' in req.url.query_params",
    "actions.ngrok.restrict_ips.action == 'deny'",
  ];
  const actions: object[] = [
    { type: "add-headers", config: { headers: { "x-policy": "${req.method} ${conn.client_ip}" } } },
    { type: "remove-headers", config: { headers: ["cookie"] } },
    { type: "set-vars", config: { vars: [{ n: "${size(req.url.path)}" }] } },
    { type: "restrict-ips", config: { enforce: false, allow: ["127.0.0.1/32"] } },
    { type: "log", config: { metadata: { path: "${req.url.path}" } } },
    { type: "url-rewrite", config: { from: "/a/b", to: "/b" } },
    { type: "circuit-breaker", config: { volume_threshold: 2 } },
    { type: "redirect", config: { from: "/ab$", to: "/moved" } },
    { type: "custom-response", config: { status_code: 418, body: "${req.url.path}" } },
    { type: "request-body-find-replace", config: { replacements: [{ from: "a", to: "letter" }] } },
    { type: "deny" },
  ];
  const found = { replacements: [{ from: "t(e)xt", to: random.pick(["$1", "longer text", ""]) }] };
  const responseActions = [
    actions[0],
    { type: "compress-response" },
    { type: "response-body-find-replace", config: found },
  ] as object[];
  const rule = (from: readonly object[]): object => ({
    ...(random() < 0.8 && { expressions: [random.pick(expressions)] }),
    actions: [random.pick(from)],
  });
  return {
    on_http_request: [rule(actions), rule(actions), rule(actions)],
    on_http_response: [rule(responseActions), rule(responseActions)],
    on_event_stream_message: [{ actions: [{ type: "sse-find-replace", config: found }] }],
  };
}

function randomBlocks(random: Random): object {
  const some = (share: number, blocks: object): object => (random() < share ? blocks : {});
  const backends = ["bkdtg_1", "bkdtg_1", "bkdsc_1", "bkdhr_1", "bkdfo_1", "bkdwd_1", "bkdfo_none", "bkdtg_gone"];
  return {
    ...some(0.4, { ip_restriction: { enabled: random() < 0.8, ip_policy_ids: ["ipp_1"] } }),
    ...some(0.4, {
      user_agent_filter: {
        enabled: random() < 0.8,
        allow: random.pick([[], ["curl"]]),
        deny: random.pick([[], [".*"]]),
      },
    }),
    ...some(0.3, { webhook_verification: { enabled: true, provider: "github", secret: "s" } }),
    ...some(0.4, { traffic_policy: { enabled: true, value: JSON.stringify(randomPolicy(random)) } }),
    ...some(0.5, { circuit_breaker: breaker }),
    ...some(0.1, { websocket_tcp_converter: { enabled: true } }),
    ...some(0.5, {
      request_headers: {
        enabled: true,
        remove: ["x-own"],
        add: { "x-ip": "${conn.client_ip} ${.circuit_breaker.decision}", "x-path": "${req.url.path}" },
      },
    }),
    ...some(0.5, {
      response_headers: { enabled: true, remove: [], add: { "x-b": "${.backend.id} ${res.status_code}" } },
    }),
    ...some(0.5, { compression: { enabled: true } }),
    ...some(0.95, { backend: { enabled: true, backend_id: random.pick(backends) } }),
  };
}
