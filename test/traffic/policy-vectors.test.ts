/** The vectors of the traffic policies' specification, on real traffic: client, edge, agent and service. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { parseYamlObject } from "../../src/lib/yaml.ts";
import { actions } from "../../src/policy/actions/index.ts";
import { protocols } from "../support/http-client.ts";
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
  readonly connect?: boolean;
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
const known = new Set(actions.map(({ type }) => type));
/**
 * Not played here: V13, which needs an issuer's keys (`jwt-validation.test.ts`); V19, which has connections
 * (`policy-connections.test.ts`).
 */
const elsewhere = ["V13", "V19"];

const typesIn = ({ policy }: Vector): string[] =>
  Array.from(policy.matchAll(/(?<!-)type: ([a-z-]+)/g), ([, type = ""]) => type);
const runnable = (vector: Vector): boolean =>
  !elsewhere.includes(vector.id) && typesIn(vector).every((type) => known.has(type));

let random = 0;
/** Longer than any window. */
const restMs = 120_000;
/** How far the case before was in its vector. */
let reachedMs = 0;
let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent({ trustedProxies: ["127.0.0.0/8"], random: () => random });
  fixture.put("https_edge", "edghts_2", { hostports: [`${host}:443`], mutual_tls: null, tls_termination: null });
});
after(() => fixture.stop());

it("there are 20 policies with 45 cases, and all are tested", () => {
  assert.equal(vectors.length, 20);
  assert.equal(vectors.flatMap(({ cases }) => cases).length, 45);
  assert.deepEqual(
    vectors.filter((vector) => !runnable(vector)).map(({ id }) => id),
    elsewhere,
  );
});

for (const protocol of protocols) {
  for (const vector of vectors.filter(runnable)) {
    describe(`${vector.id} over ${protocol}: ${vector.about}`, () => {
      for (const [at, one] of vector.cases.entries()) it(`case ${at + 1}`, () => play(vector, one, protocol));
    });
  }
}

async function play(vector: Vector, one: Case, protocol: Protocol): Promise<void> {
  const { client = "203.0.113.9", request, at } = one;
  if (at !== undefined) {
    const ms = Number(at.slice(0, -1)) * 1000;
    // What an earlier run left in the windows is over.
    fixture.clock.move(ms === 0 ? restMs : ms - reachedMs);
    reachedMs = ms;
  }
  random = one.rand ?? 0;
  fixture.put("https_edge_route", "edghtsrt_2", {
    edge_id: "edghts_2",
    match_type: "path_prefix",
    match: "/",
    backend: { enabled: true, backend_id: "bkdtg_1" },
    traffic_policy: { enabled: true, value: vector.policy },
  });
  const online = Object.entries(one.online ?? {});
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
    headers: request?.headers ?? {},
    ...(request?.body !== undefined && { body: request.body }),
  });
  const reached = fixture.received[before];
  if (one.upstream === "none") assert.equal(reached, undefined, "the upstream was reached");
  else if (one.upstream !== undefined) checkRequest(reached, one.upstream);
  checkResponse(asked, one.response);
  if (online.length > 0) assert.equal(asked.headers["x-host"], host, "the Host field is not the first endpoint's");
  for (const at of online.keys()) fixture.edge.remove("cloud_endpoint", `ep_${at}`);
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
