import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("networks that may read the metrics", { timeout: 60_000 }, () => {
  // A host name other than localhost makes a request count as one from another machine.
  const host = "postern.monitoring.example";
  const apis: TestApi[] = [];
  before(async () => {
    for (const metricsFrom of [["127.0.0.0/8", "::1"], ["192.0.2.0/24"], []]) {
      apis.push(await startApi(sqlite, { metricsFrom }));
    }
  });
  after(() => Promise.all(apis.map((api) => api.stop())));

  it("get them, and other machines are refused with 403", async () => {
    const replies = await Promise.all(apis.map((api) => api.request("GET", "/metrics", { headers: { host } })));
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 403, 403],
    );
    assert.match(replies[0]?.text ?? "", /^postern_ready /m);
    assert.match(replies[1]?.text ?? "", /--metrics-from/);
  });

  it("networks that may read the metrics do not get them through a proxy", async () => {
    const [api] = apis as [TestApi];
    const headers = { host, "x-forwarded-for": "198.51.100.7" };
    assert.equal((await api.request("GET", "/metrics", { headers })).status, 403);
  });
});
