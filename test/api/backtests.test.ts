/** Backtests over the API, from segments on disk to the report, in the real thread. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { backtestRunner } from "../../src/backtest/start-backtest.ts";
import { CaptureStore } from "../../src/capture/store/capture-store.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";
import { backtestSettings, recordOf } from "../support/recorded-traffic.ts";
import { storeRecord } from "../support/captured-records.ts";

const keys = [{ id: "0a", key: Buffer.alloc(32, 7) }];
const rule = { enabled: true, sample: 1, hours: 24, redactHeaders: [], redactQuery: [], bodyBytes: 0 };

for (const database of databases) {
  describe(`backtests (${database.name})`, () => {
    const directory = mkdtempSync(join(tmpdir(), "backtest-"));
    const starting = startApi(database, {
      backtests: () => backtestRunner(() => ({ directory, keys }), backtestSettings),
    });

    after(async () => {
      await (await starting).stop();
      rmSync(directory, { recursive: true, force: true });
    });

    it("POST /backtests counts the requests that a document would deny", async () => {
      const api = await starting;
      const { accountId, backend, edge, route } = await configure(api);
      const now = Date.now();
      const records = Array.from({ length: 600 }, (_one, at) =>
        recordOf({ at, accountId, siteId: edge, routeId: route, receivedAt: (now - 60_000 + at) * 1000 }),
      );
      const store = new CaptureStore({ directory, keys, maxBytes: 1e9, clock: systemClock, log: silentLog });
      for (const one of records) storeRecord(store, one, rule);
      store.close();

      const document = {
        objects: {
          ip_policy: { office: {} },
          ip_policy_rule: { network: { ip_policy_id: "office", cidr: "192.0.2.0/25", action: "allow" } },
          https_edge_route: {
            home: {
              id: route,
              edge_id: edge,
              match_type: "path_prefix",
              match: "/",
              backend: { backend_id: backend },
              ip_restriction: { ip_policy_ids: ["office"] },
            },
          },
        },
      };
      const report = await finished(api, { document });
      assert.deepEqual(
        [report.status, report.tried, report.same, report.different, report.unknown],
        ["completed", 600, 384, 216, 0],
      );
      assert.equal(report.differences.allowed_to_denied, 216);
      const [cause] = report.causes;
      assert.deepEqual(
        [cause.module, cause.requests, cause.sources, cause.paths],
        ["ip_restriction", 216, { count: 72, more: false }, { count: 4, more: false }],
      );
      assert.deepEqual(cause.object, { kind: "ip_policy", id: "office", name: "office" });
      assert.doesNotMatch(JSON.stringify(report.causes), /ipp_/);
      assert.ok(report.examples.length >= 20 && report.examples.length <= 22);
      const [first] = report.examples;
      assert.equal(first.request_id, records[128]?.id);
      assert.deepEqual([first.before.outcome, first.after.outcome], ["forwarded", "denied"]);
      assert.equal(first.after.error_code, errorCode("source_denied"));

      const filtered = await finished(api, { document, filter: { path: "/p1" } });
      assert.deepEqual([filtered.tried, filtered.different], [150, 54]);
      const none = await finished(api, { document, until: new Date(now - 3_600_000).toISOString() });
      assert.equal(none.tried, 0);
      const draft = { route_id: route, traffic_policy: "on_http_request: [{ actions: [{ type: deny }] }]" };
      assert.equal((await finished(api, { draft })).differences.allowed_to_denied, 600);
    });

    it("POST /backtests changes nothing", async () => {
      const api = await starting;
      const before = await api.ok("GET", "/revisions");
      await finished(api, { document: { objects: { ip_policy: { another: {} } } } });
      assert.deepEqual(await api.ok("GET", "/revisions"), before);
    });

    it("POST /backtests requires a key that may write and read everything", async () => {
      const api = await starting;
      for (const scopes of [
        ["read", "secrets", "exchanges"],
        ["write", "exchanges"],
        ["write", "secrets"],
      ]) {
        const { token } = await api.ok("POST", "/api_keys", { scopes });
        const body = { document: { objects: {} } };
        const { status, body: failure } = await api.request("POST", "/backtests", { body, key: token });
        assert.deepEqual([status, failure.error_code], [403, errorCode("scope_missing")], String(scopes));
      }
    });

    it("POST /backtests names what is wrong with the input", async () => {
      const api = await starting;
      const objects = { objects: {} };
      for (const [body, path] of [
        [{}, "document"],
        [{ document: objects, draft: { route_id: "x", traffic_policy: "on_http_request: []" } }, "document"],
        [{ draft: { route_id: "x", traffic_policy: "on_http_request: []" } }, "draft.route_id"],
        [{ document: objects, since: "yesterday" }, "since"],
        [{ document: objects, since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" }, "since"],
        [{ document: objects, filter: { source_ip: "here" } }, "filter.source_ip"],
      ] as const) {
        const { status, body: failure } = await api.request("POST", "/backtests", { body });
        assert.equal(status, 400);
        assert.ok(path in failure.details, JSON.stringify(failure));
      }
    });

    it("GET /backtests/{id} hides the backtests of other accounts", async () => {
      const api = await starting;
      const { id } = await api.ok("POST", "/backtests", { document: { objects: {} } });
      const { body } = await api.request("GET", `/backtests/${id}x`);
      assert.equal(body.error_code, errorCode("not_found"));
      assert.equal((await api.ok("DELETE", `/backtests/${id}`)).id, id);
    });
  });
}

async function configure(api: TestApi) {
  const { id: backend } = await api.ok("POST", "/backends/static", {
    address: "192.0.2.9:80",
    tls: { enabled: false },
  });
  const { id: edge } = await api.ok("POST", "/edges/https", { hostports: ["app.example.com:443"] });
  const { id: route } = await api.ok("POST", `/edges/https/${edge}/routes`, {
    match_type: "path_prefix",
    match: "/",
    backend: { backend_id: backend },
  });
  const accountId = (await api.ok("GET", "/accounts")).accounts[0].id as string;
  return { accountId, backend: backend as string, edge: edge as string, route: route as string };
}

async function finished(api: TestApi, body: unknown): Promise<Body> {
  const { id } = await api.ok("POST", "/backtests", body);
  return await eventually(
    () => api.ok("GET", `/backtests/${id}`),
    ({ status }: Body) => status !== "running",
  );
}
