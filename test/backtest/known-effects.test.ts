/** Changes with a known effect: a backtest counts exactly what happens when the change is applied to the same traffic. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parse, stringify } from "yaml";
import type { CapturedRequest } from "../../src/capture/record.ts";
import type { Doc } from "../../src/schema/doc.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { startBusyEdge } from "../support/busy-edge.ts";
import type { BusyEdge } from "../support/busy-edge.ts";
import { backtestOf, recordTraffic } from "../support/recorded-traffic.ts";

type Change = Pick<ResourceObject, "kind" | "id"> & { readonly doc: Doc | null };

interface Effect {
  readonly name: string;
  readonly change: () => readonly Change[];
  /** Differences that the status and outcome of the requests do not show. */
  readonly others?: Readonly<Record<string, number>>;
  /** The module that causes the differences. */
  readonly module: string;
}

let busy: BusyEdge;
let traffic: ReturnType<typeof recordTraffic>;

before(async () => {
  busy = await startBusyEdge();
  await busy.ready();
  traffic = recordTraffic();
});

after(async () => {
  traffic.stop();
  await busy.stop();
});

async function visitAll(): Promise<readonly CapturedRequest[]> {
  const from = traffic.records.length;
  for (const visit of busy.visits) await visit.run().catch(() => {});
  return traffic.records
    .slice(from)
    .filter(({ siteId }) => siteId.startsWith("edghts_"))
    .toSorted((one, other) => one.receivedAt - other.receivedAt);
}

function docOf(kind: string, id: string): Doc {
  const found = busy.edge.objects.find((one) => one.kind === kind && one.id === id);
  assert.ok(found, `${kind} ${id}`);
  return found.doc;
}

function route(path: string, fields: Doc): Change {
  const id = `edghtsrt_edghts_1_${path}`;
  return { kind: "https_edge_route", id, doc: { ...docOf("https_edge_route", id), ...fields } };
}

/** The policy of `/policy` with other rules. */
function policyWith(changed: (rules: Record<string, Record<string, unknown>[]>) => void): readonly Change[] {
  const { traffic_policy } = docOf("https_edge_route", "edghtsrt_edghts_1_policy") as {
    traffic_policy: { value: string };
  };
  const policy = parse(traffic_policy.value) as Record<string, Record<string, unknown>[]>;
  changed(policy);
  return [route("policy", { traffic_policy: { enabled: true, value: stringify(policy) } })];
}

function insert(action: Record<string, unknown>, expressions: readonly string[] = []): readonly Change[] {
  return policyWith((policy) => policy["on_http_request"]?.unshift({ expressions, actions: [action] }));
}

const effects: readonly Effect[] = [
  {
    name: "an IP policy that denies what it allowed",
    module: "ip_restriction",
    change: () => [
      {
        kind: "ip_policy_rule",
        id: "ipr_ipp_1_0",
        doc: { ip_policy_id: "ipp_1", cidr: "127.0.0.0/8", action: "deny" },
      },
    ],
  },
  {
    name: "a filter for every user agent",
    module: "user_agent_filter",
    change: () => [route("static", { user_agent_filter: { enabled: true, allow: [], deny: [".*"] } })],
  },
  {
    name: "a route without its login",
    module: "oauth",
    change: () => [route("login", { oauth: null })],
    others: { other_headers: 2 },
  },
  {
    name: "a login for a public route",
    module: "oauth",
    change: () => [route("static", { oauth: docOf("https_edge_route", "edghtsrt_edghts_1_login")["oauth"] })],
  },
  {
    name: "another backend",
    module: "backend",
    change: () => [route("static", { backend: { enabled: true, backend_id: "bkdhr_1" } })],
    others: { other_backend: 2 },
  },
  {
    name: "another fixed response",
    module: "backend",
    change: () => [{ kind: "http_response_backend", id: "bkdhr_1", doc: { status_code: 200, headers: {}, body: "" } }],
  },
  {
    name: "another response header",
    module: "response_headers",
    change: () => [route("static", { response_headers: { enabled: true, add: { "x-response": "2" }, remove: [] } })],
    others: { other_headers: 2 },
  },
  {
    name: "another request header",
    module: "request_headers",
    change: () => [route("static", { request_headers: { enabled: true, add: { "x-added": "2" }, remove: [] } })],
    others: { other_headers: 2 },
  },
  {
    name: "a removed route",
    module: "router",
    change: () => [{ kind: "https_edge_route", id: "edghtsrt_edghts_1_static", doc: null }],
    others: { other_route: 2 },
  },
  {
    name: "a rule that denies",
    module: "traffic_policy",
    change: () => insert({ type: "deny", config: { status_code: 404 } }, ["req.method == 'GET'"]),
  },
  {
    name: "a rule that no longer denies",
    module: "traffic_policy",
    change: () =>
      policyWith((policy) => {
        policy["on_http_request"] =
          policy["on_http_request"]?.filter((rule) => !JSON.stringify(rule).includes("deny")) ?? [];
      }),
  },
  {
    name: "addresses that a rule does not allow",
    module: "traffic_policy",
    change: () => insert({ type: "restrict-ips", config: { enforce: true, allow: ["192.0.2.0/24"] } }),
  },
  {
    name: "a rate limit that half of the requests exceed",
    module: "traffic_policy",
    change: () =>
      insert({
        type: "rate-limit",
        config: { name: "few", algorithm: "sliding_window", capacity: 3, rate: "60s", bucket_key: ["conn.client_ip"] },
      }),
  },
  {
    name: "a rule that redirects",
    module: "traffic_policy",
    change: () => insert({ type: "redirect", config: { to: "/elsewhere" } }, ["req.url.path == '/policy/body'"]),
  },
  {
    name: "a rule that answers",
    module: "traffic_policy",
    change: () => insert({ type: "custom-response", config: { status_code: 503, body: "closed" } }),
  },
  {
    name: "a password for everything",
    module: "traffic_policy",
    change: () =>
      insert({ type: "basic-auth", config: { credentials: ["ada:another-password"] } }, ["req.method == 'POST'"]),
  },
];

describe("a backtest counts the effect of a change, and the effect comes true", () => {
  for (const { name, change, others = {}, module } of effects) {
    it(`a backtest counts the effect of ${name}`, async () => {
      const records = await visitAll();
      const changes = change();
      const { objects } = busy.edge;
      const report = await backtestOf(records, objects, changes);
      const counted = Object.fromEntries(Object.entries(report.differences).filter(([, count]) => count > 0));

      for (const one of changes) {
        if (one.doc === null) busy.edge.remove(one.kind, one.id);
        else busy.edge.put({ ...one, doc: one.doc });
      }
      const again = await visitAll();
      for (const one of changes) {
        busy.edge.put(objects.find((object) => object.kind === one.kind && object.id === one.id) as ResourceObject);
      }

      assert.equal(again.length, records.length);
      const happened: Record<string, number> = { ...others };
      for (const [at, record] of records.entries()) {
        const kind = changeOf(record, again[at] as CapturedRequest);
        if (kind !== undefined) happened[kind] = (happened[kind] ?? 0) + 1;
      }
      assert.deepEqual(counted, happened);
      assert.equal(report.unknown, 0);
      assert.ok(report.different > 0);
      assert.equal(report.causes[0]?.module, module);
      assert.equal(report.causes[0]?.object?.id, changes[0]?.id);
    });
  }
});

/** The difference that a client sees: backends and header fields are not part of it. */
function changeOf(before: CapturedRequest, now: CapturedRequest): string | undefined {
  const [was, is] = [isServed(before), isServed(now)];
  if (was !== is) return was ? "allowed_to_denied" : "denied_to_allowed";
  const [one, other] = [before.decision, now.decision];
  if (is && one.backendId !== other.backendId && other.backendId !== undefined) return undefined;
  return one.status === other.status && one.errorCode === other.errorCode ? undefined : "other_status";
}

function isServed({ decision: { outcome, status, backendId, steps } }: CapturedRequest): boolean {
  if (outcome === "forwarded" || backendId !== undefined) return true;
  const isLogin = steps.some(({ by, outcome: its }) => (by === "oauth" || by === "oidc") && its === "answered");
  return outcome === "answered" && status < 400 && !isLogin;
}
