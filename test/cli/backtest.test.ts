/** `postern backtest` against a separate server with captured requests. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { backtestRunner } from "../../src/backtest/start-backtest.ts";
import { CaptureStore } from "../../src/capture/store/capture-store.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { backtestSettings, recordOf } from "../support/recorded-traffic.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { storeRecord } from "../support/captured-records.ts";

const sqlite = databases[0] as (typeof databases)[number];
const keys = [{ id: "0a", key: Buffer.alloc(32, 7) }];
const rule = { enabled: true, sample: 1, hours: 24, redactHeaders: [], redactQuery: [], bodyBytes: 0 };

const documentWith = (cidr: string): string => `
objects:
  ip_policy: { office: {} }
  ip_policy_rule:
    network: { ip_policy_id: office, cidr: ${cidr}, action: allow }
  static_backend:
    web: { address: "192.0.2.9:80", tls: { enabled: false } }
  https_edge:
    shop: { hostports: ["app.example.com:443"] }
  https_edge_route:
    home:
      edge_id: shop
      match_type: path_prefix
      match: /
      backend: { backend_id: web }
      ip_restriction: { ip_policy_ids: [office] }
`;

describe("postern backtest", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-backtest-"));
  const records = join(directory, "capture");
  let api: TestApi;
  const postern = (args: readonly string[]) =>
    runSharedCommand(args, { cwd: directory, env: { POSTERN_API_URL: api.baseUrl, POSTERN_API_KEY: api.apiKey } });

  before(async () => {
    api = await startApi(sqlite, {
      backtests: () => backtestRunner(() => ({ directory: records, keys }), backtestSettings),
    });
    writeFileSync(join(directory, "now.yaml"), documentWith("192.0.2.0/24"));
    writeFileSync(join(directory, "narrow.yaml"), documentWith("192.0.2.0/25"));
    assert.equal((await postern(["apply", "now.yaml"])).code, 0);
    const [edge] = (await api.ok("GET", "/edges/https")).https_edges;
    const [route] = edge.routes;
    const accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
    const store = new CaptureStore({ directory: records, keys, maxBytes: 1e9, clock: systemClock, log: silentLog });
    for (let at = 0; at < 200; at += 1) {
      const receivedAt = (Date.now() - 60_000 + at) * 1000;
      storeRecord(store, recordOf({ at, accountId, siteId: edge.id, routeId: route.id, receivedAt }), rule);
    }
    store.close();
  });

  after(async () => {
    await api.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it("postern backtest exits with 0 for a document that changes nothing", async () => {
    const { code, stdout, stderr } = await postern(["backtest", "now.yaml", "--exit-code"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^200 requests tried, from .+ to .+\.\n\n {2}200 {2}the same\n$/);
  });

  it("postern backtest --exit-code exits with 8 if requests would be newly denied", async () => {
    const { code, stdout } = await postern(["backtest", "narrow.yaml", "--exit-code"]);
    assert.equal(code, 8);
    assert.match(stdout, /^ {2}128 {2}the same\n {3}72 {2}newly denied$/m);
    assert.match(
      stdout,
      /^ {2}72 {2}newly denied {2}by ip_restriction {2}ip_policy_rule network\n {6}72 addresses, 4 paths$/m,
    );
    assert.match(stdout, /^ {2}GET app\.example\.com\/p0 {2}from 192\.0\.2\.128 {2}req_\w+$/m);
    assert.match(stdout, /^ {4}after {3}denied 403 {2}ip_restriction: /m);
    assert.equal((await postern(["backtest", "narrow.yaml"])).code, 0);
  });

  it("postern backtest --filter tries only requests with the property, and --json prints the report", async () => {
    const { stdout } = await postern(["backtest", "narrow.yaml", "--json", "--filter", "path=/p1", "--since", "1h"]);
    const { tried, different } = JSON.parse(stdout) as { readonly tried: number; readonly different: number };
    assert.deepEqual([tried, different], [50, 18]);
    const wrong = await postern(["backtest", "narrow.yaml", "--filter", "colour=red"]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--filter "colour=red" must be NAME=VALUE/);
  });

  it("postern backtest says how to capture requests if there are none", async () => {
    const { stdout } = await postern(["backtest", "narrow.yaml", "--since", "1ms"]);
    assert.match(stdout, /^No captured requests from .+ Set `capture` on the account, edge or route/);
    assert.match(stdout, /A request is available about a second after it ended\.$/m);
  });
});
