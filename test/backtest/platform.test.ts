/** Backtests of a running server, with the requests that it has captured itself. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const policyFor = (path: string): string => `on_http_request:
  - expressions: ["req.url.path == '${path}'"]
    actions: [{ type: deny, config: { status_code: 403 } }]
  - actions: [{ type: custom-response, config: { status_code: 200, body: hello } }]
`;
const url = "https://app.backtest.test";

for (const database of databases) {
  describe(`backtests of captured requests (${database.name})`, () => {
    let platform: TestPlatform;
    let stored: Awaited<ReturnType<typeof database.create>>;
    let endpointId = "";

    before(async () => {
      stored = await database.create();
      platform = await startPlatform({ database: stored.url });
      const body = { url, type: "cloud", traffic_policy: policyFor("/denied"), capture: {} };
      const made = await platform.api("POST", "/endpoints", body);
      assert.equal(made.status, 201, made.text);
      endpointId = made.body.id;
      for (const http of ["h1", "h2"] as const) {
        for (const path of ["/a", "/b", "/denied"]) await platform.request(`${url}${path}`, { http });
      }
      await eventually(
        async () => (await platform.api("GET", "/requests?since=1h")).body.requests as { captured: boolean }[],
        (list) => list.filter(({ captured }) => captured).length === 6,
      );
    });
    after(async () => {
      await platform.stop();
      await stored.drop();
    });

    const backtest = async (traffic_policy: string) => {
      const fields = { id: endpointId, url, type: "cloud", traffic_policy, capture: {} };
      const document = { objects: { cloud_endpoint: { app: fields } } };
      const started = await platform.api("POST", "/backtests", { document });
      assert.equal(started.status, 201, started.text);
      const { body } = await eventually(
        () => platform.api("GET", `/backtests/${started.body.id}`),
        ({ body: { status } }) => status !== "running",
      );
      return body;
    };

    it("a backtest finds no difference for the policy in effect", async () => {
      const { tried, same, decided_otherwise_before } = await backtest(policyFor("/denied"));
      assert.deepEqual({ tried, same, decided_otherwise_before }, { tried: 6, same: 6, decided_otherwise_before: 0 });
    });

    it("a backtest counts requests that a policy would newly deny and newly allow", async () => {
      const { tried, same, differences } = await backtest(policyFor("/a"));
      assert.deepEqual([tried, same], [6, 2]);
      assert.deepEqual([differences.allowed_to_denied, differences.denied_to_allowed], [2, 2]);
    });
  });
}
