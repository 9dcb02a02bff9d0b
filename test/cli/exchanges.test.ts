/** What agents have kept of requests, asked for through the management API: by real agents, as their operators start them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { Postern } from "../../sdk/src/index.ts";
import type { Exchange } from "../../sdk/src/index.ts";
import { freePort } from "../support/connections.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";
import { useInspectedAgent } from "../support/inspected-agent.ts";
import type { ApiBody, RequestOptions } from "../support/platform.ts";

describe("what an agent has kept of a request", { timeout: 120_000 }, () => {
  const inspected = useInspectedAgent();
  const { received, start, startAt } = inspected;
  const visit = (path: string, options?: RequestOptions, url = inspected.url): Promise<Asked> =>
    inspected.platform.request(`${url}${path}`, options);
  const api = (
    method: string,
    path: string,
    key?: string,
  ): Promise<{ readonly status: number; readonly body: ApiBody }> =>
    inspected.platform.api(method, path, undefined, key);
  const refused = async (path: string, reason: RefusalName, method = "GET"): Promise<void> => {
    const { body } = await api(method, path);
    assert.equal(body.error_code, errorCode(reason), JSON.stringify(body));
  };
  const client = (): Postern => new Postern({ apiKey: inspected.platform.apiKey, baseUrl: inspected.platform.apiUrl });
  const keyWith = async (scopes: readonly string[]): Promise<string> =>
    (await inspected.platform.api("POST", "/api_keys", { scopes })).body.token;
  const bodyOf = ({ body }: Exchange["request"]): string => Buffer.from(body.base64, "base64").toString();

  for (const http of protocols) {
    it(`G7: what an agent has kept of a request is shown, credentials hidden, over ${http}`, async () => {
      const headers = { authorization: "Bearer visitor-secret", cookie: "a=visitor-secret", "x-team": "web" };
      const { id } = await visit("/orders?q=1", { http, method: "POST", headers, body: "hello" });
      const { status, body } = await api("GET", `/requests/${id}/exchange`);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(
        [body.request_id, body.request.method, body.request.target, body.response.status_code, body.outcome],
        [id, "POST", "/orders?q=1", 200, "complete"],
      );
      assert.equal(bodyOf(body.request), "hello");
      assert.match(bodyOf(body.response), /^POST hello/);
      const named = (name: string) =>
        body.request.headers.find((field: { name: string }) => field.name.toLowerCase() === name)?.value;
      assert.deepEqual([named("x-team"), named("authorization"), named("cookie")], ["web", "(hidden)", "(hidden)"]);
      assert.doesNotMatch(JSON.stringify({ ...body, response: { ...body.response, body: null } }), /-secret/);
      assert.ok(body.duration_ms > 0 && body.timing.upstream_ms > 0, JSON.stringify(body));
      const { body: trace } = await api("GET", `/requests/${id}`);
      assert.equal(body.tunnel_session_id, trace.tunnel.tunnel_session_id);
    });
  }

  it("G7: what an agent has kept of a request is sent to its service again, once for each key, as an exchange of its own", async () => {
    const { id } = await visit("/paid", { method: "POST", body: "once" });
    const times = () => received.filter((line) => line === "POST /paid once").length;
    const before = await client().requests.exchange.get(id);
    assert.equal(times(), 1);
    const idempotencyKey = "pay-7";
    const [first, second] = await Promise.all([
      client().requests.replay(id, { idempotencyKey }),
      client().requests.replay(id, { idempotencyKey }),
    ]);
    assert.equal(times(), 2);
    assert.deepEqual(
      [first.exchange_id, first.replay_of, first.outcome],
      [second.exchange_id, before.exchange_id, "complete"],
    );
    assert.equal(first.response?.status_code, 200);
    const shown = await client().requests.exchange.get(id, { exchange_id: first.exchange_id });
    assert.equal(shown.response?.body.base64, first.response?.body.base64);
    const { replays } = await client().requests.exchange.get(id);
    assert.deepEqual(
      replays.map((one) => [one.exchange_id, one.status_code]),
      [[first.exchange_id, 200]],
    );
    const other = await client().requests.replay(id);
    assert.notEqual(other.exchange_id, first.exchange_id);
    assert.equal(times(), 3);
    // An id is of one request.
    const { id: others } = await visit("/other");
    await refused(`/requests/${others}/exchange?exchange_id=${first.exchange_id}`, "exchange_forgotten");
  });

  it("what an agent has kept of a request is bounded, and marked where it is cut", async () => {
    const long = "x".repeat(300_000);
    const { id } = await visit("/long", { method: "POST", body: long });
    const { request, response } = await client().requests.exchange.get(id);
    assert.deepEqual([request.body.bytes, request.body.cut, bodyOf(request).length], [300_000, true, 262_144]);
    assert.ok(response?.body.cut && response.body.bytes > 300_000);
    await refused(`/requests/${id}/replay`, "replay_impossible", "POST");
  });

  it("G7: what an agent has kept of a request needs a scope of its own, and to replay it that of writes", async () => {
    const { id } = await visit("/scoped");
    const lacks = async (method: string, path: string, scopes: readonly string[]): Promise<string | undefined> => {
      const { status, body } = await api(method, path, await keyWith(scopes));
      assert.ok(status === 200 || status === 403, JSON.stringify(body));
      return body.details?.scope;
    };
    const [exchange, replay] = [`/requests/${id}/exchange`, `/requests/${id}/replay`];
    assert.equal(await lacks("GET", `/requests/${id}`, ["read"]), undefined);
    assert.equal(await lacks("GET", exchange, ["read"]), "exchanges");
    assert.equal(await lacks("GET", exchange, ["write", "secrets"]), "exchanges");
    assert.equal(await lacks("GET", exchange, ["read", "exchanges"]), undefined);
    assert.equal(await lacks("POST", replay, ["write"]), "exchanges");
    assert.equal(await lacks("POST", replay, ["read", "exchanges"]), "write");
    assert.equal(received.filter((line) => line.startsWith("GET /scoped")).length, 1);
    assert.equal(await lacks("POST", replay, ["write", "exchanges"]), undefined);
    const limited = await keyWith(["write", "secrets"]);
    const more = await inspected.platform.api("POST", "/api_keys", { scopes: ["read", "exchanges"] }, limited);
    assert.equal(more.status, 403);
  });

  it("P1: what an agent has kept of a request is told to its account alone", async () => {
    const { id } = await visit("/walled");
    const { body: account } = await inspected.platform.api("POST", "/accounts", { name: "other" });
    assert.equal((await api("GET", `/requests/${id}/exchange`, account.api_key)).status, 404);
    assert.equal((await api("POST", `/requests/${id}/replay`, account.api_key)).status, 404);
  });

  it("G7: what an agent has kept of a request is told only where its operator lets the server ask, and it keeps something", async () => {
    const cases = [
      [["--inspector", "0", "--remote-management", "false"], "exchange_management_off"],
      [["--inspector", "off"], "exchange_not_kept"],
      [["--inspector", "0", "--inspect", "false"], "exchange_not_kept"],
    ] as const;
    for (const [args, reason] of cases) {
      const { url } = await start(...args);
      const { id } = await visit("/kept", {}, url);
      await refused(`/requests/${id}/exchange`, reason);
      const before = received.length;
      await refused(`/requests/${id}/replay`, reason, "POST");
      assert.equal(received.length, before);
    }
  });

  it("what an agent has kept of a request is gone when it is forgotten, or the agent is gone", async () => {
    const one = await start("--inspector", "0");
    const { id } = await visit("/gone", {}, one.url);
    assert.equal((await api("GET", `/requests/${id}/exchange`)).status, 200);
    await inspected.call("DELETE", "/api/requests/http", undefined, {}, one.port);
    await refused(`/requests/${id}/exchange`, "exchange_forgotten");
    await one.agent.end();
    await refused(`/requests/${id}/exchange`, "exchange_agent_gone");
    await refused("/requests/req_none/exchange", "not_found");
  });

  it("what an agent has kept of a request cannot be sent again to a service that is not there", async () => {
    const port = await freePort();
    const { url } = await startAt(String(port), "--inspector", "0");
    const { id } = await visit("/nobody", {}, url);
    await refused(`/requests/${id}/replay`, "replay_unreachable", "POST");
  });
});
