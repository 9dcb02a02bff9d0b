/** Requests stored by real agents, read through the management API. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { Postern } from "../../sdk/src/index.ts";
import type { Exchange } from "../../sdk/src/index.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { callGrpc, startGrpcService } from "../support/grpc-service.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";
import { useInspectedAgent } from "../support/inspected-agent.ts";
import { assertAccessible, openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import type { ApiBody, RequestOptions } from "../support/platform.ts";

describe("a request stored by an agent", { timeout: 120_000 }, () => {
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
    it(`G7: a request stored by an agent is returned with hidden credentials, over ${http}`, async () => {
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

  it("G7: a request stored by an agent is replayed to its service once for each key, as a new exchange", async () => {
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
    // An ID belongs to one request.
    const { id: others } = await visit("/other");
    await refused(`/requests/${others}/exchange?exchange_id=${first.exchange_id}`, "exchange_forgotten");
  });

  it("a request stored by an agent is limited in size, and marked where it is truncated", async () => {
    const long = "x".repeat(300_000);
    const { id } = await visit("/long", { method: "POST", body: long });
    const { request, response } = await client().requests.exchange.get(id);
    assert.deepEqual([request.body.bytes, request.body.cut, bodyOf(request).length], [300_000, true, 262_144]);
    assert.ok(response?.body.cut && response.body.bytes > 300_000);
    await refused(`/requests/${id}/replay`, "replay_impossible", "POST");
  });

  it("G7: a request stored by an agent requires a separate scope, and the write scope for a replay", async () => {
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

  it("P1: a request stored by an agent is returned to its account only", async () => {
    const { id } = await visit("/walled");
    const { body: account } = await inspected.platform.api("POST", "/accounts", { name: "other" });
    assert.equal((await api("GET", `/requests/${id}/exchange`, account.api_key)).status, 404);
    assert.equal((await api("POST", `/requests/${id}/replay`, account.api_key)).status, 404);
  });

  it("G7: a request stored by an agent is returned only if the operator allows it and the agent stores requests", async () => {
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

  it("a request stored by an agent is unavailable after it is deleted or the agent has ended", async () => {
    const one = await start("--inspector", "0");
    const { id } = await visit("/gone", {}, one.url);
    assert.equal((await api("GET", `/requests/${id}/exchange`)).status, 200);
    await inspected.call("DELETE", "/api/requests/http", undefined, {}, one.port);
    await refused(`/requests/${id}/exchange`, "exchange_forgotten");
    await one.agent.end();
    await refused(`/requests/${id}/exchange`, "exchange_agent_gone");
    await refused("/requests/req_none/exchange", "not_found");
  });

  it("a request stored by an agent is returned with its trailers from an HTTP/2-only service, and replayed", async (t) => {
    const { addr, asked, stop } = await startGrpcService();
    t.after(stop);
    const tunnel = { name: "rpc", proto: "http", addr, hostname: "rpc.localhost" };
    const { body: made } = await inspected.call("POST", "/api/tunnels", tunnel);
    await callGrpc(inspected.platform, made.public_url, Buffer.from("*"));
    const kept = (await api("GET", "/requests?text=rpc.localhost")).body.requests[0];
    const { request, response } = await client().requests.exchange.get(kept.id);
    assert.deepEqual([request.target, request.protocol], ["/shop.Orders/Get", "HTTP/2.0"]);
    assert.ok(response?.trailers.some(({ name, value }) => name === "grpc-status" && value === "7"));
    const again = await client().requests.replay(kept.id);
    assert.equal(again.response?.body.base64, response?.body.base64);
    assert.equal(asked.length, 2);
  });

  it("a request stored by an agent is available after a command to reconnect", async () => {
    const { url } = await start("--inspector", "0");
    const { id } = await visit("/before", {}, url);
    const { tunnel_session_id: before } = (await api("GET", `/requests/${id}`)).body.tunnel;
    assert.equal((await api("POST", `/tunnel_sessions/${before}/restart`)).status, 204);
    const told = await eventually(
      () => api("GET", `/requests/${id}/exchange`),
      ({ body }) => body.tunnel_session_id !== before,
    );
    assert.equal(told.body.request?.target, "/before", JSON.stringify(told.body));
  });

  it("a request stored by an agent cannot be replayed to a service that is not running", async () => {
    const port = await freePort();
    const { url } = await startAt(String(port), "--inspector", "0");
    const { id } = await visit("/nobody", {}, url);
    await refused(`/requests/${id}/replay`, "replay_unreachable", "POST");
  });

  describe("in the console", { skip: skipWithout("chromium") }, () => {
    let chromium: Browser;
    let watched: WatchedPage;
    let page: Page;
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const captured = () => page.getByRole("region", { name: "Captured" });
    const look = async (path: string): Promise<void> => {
      await page.goto(`${inspected.platform.apiUrl}/#/traffic/${path}`);
      await captured().waitFor();
    };
    before(async () => {
      const { platform } = inspected;
      chromium = await startChromium();
      watched = await openWatched(chromium, platform.apiUrl);
      ({ page } = watched);
      await page.goto((await platform.api("POST", "/console_links")).body.url);
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    });
    after(() => chromium?.close());

    it("a request stored by an agent is displayed in the console side by side, formatted and without credentials", async () => {
      const headers = { "content-type": "application/json", authorization: "Bearer visitor-secret" };
      const { id } = await visit("/cart?item=7", { method: "POST", headers, body: '{"item":{"id":7}}' });
      await look(id);
      const [request, response] = [
        captured().getByLabel("Request", { exact: true }),
        captured().getByLabel("Response", { exact: true }),
      ];
      const body = request.getByLabel("Request body", { exact: true });
      await body.getByText(/"item": \{\s+"id": 7/).waitFor();
      assert.match(await request.innerText(), /item\s+7[^]*\(hidden\)/);
      await response.getByText('POST {"item":{"id":7}}').waitFor();
      assert.doesNotMatch(await request.innerText(), /visitor-secret/);
      watched.assertQuiet();
    });

    it("a request stored by an agent is replayed from the console: with a click if that is safe, otherwise after a confirmation", async () => {
      const times = (line: string) => received.filter((one) => one.startsWith(line)).length;
      const { id } = await visit("/again");
      await look(id);
      await button("Replay").click();
      await captured().getByRole("link", { name: "Show the new request" }).click();
      await captured().getByText("This is a replay").waitFor();
      assert.equal(times("GET /again"), 2);
      assert.match(page.url(), new RegExp(`${id}\\?exchange=[0-9a-f]{16}$`));
      await captured().getByRole("link", { name: "The original request" }).click();
      await captured().getByText("This is a replay").waitFor({ state: "detached" });
      const { id: paid } = await visit("/pay", { method: "POST", body: "7" });
      await look(paid);
      await button("Replay …").click();
      await button("Cancel").click();
      assert.equal(times("POST /pay"), 1);
      await button("Replay …").click();
      await button("Send it again").click();
      await captured().getByRole("status").getByText("Sent again").waitFor();
      assert.equal(times("POST /pay"), 2);
      watched.assertQuiet();
    });

    it("P9: a request stored by an agent is text in the console, whatever its content, and executes nothing", async () => {
      const hostile = `"><img src=x onerror="alert('ran')"><script>alert("ran")</script>{{7*7}}`;
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert('ran')"><script>alert("ran")</script></svg>`;
      const bodies = [
        ["text/html", hostile],
        ["application/json", JSON.stringify({ [hostile]: hostile })],
        ["image/svg+xml", svg],
        ["application/x-www-form-urlencoded", new URLSearchParams({ [hostile]: hostile }).toString()],
        ["text/event-stream", `event: ${hostile}\ndata: ${hostile}\n\n`],
        [hostile, hostile],
      ] as const;
      for (const [type, body] of bodies) {
        const headers = { "content-type": type, "x-said": hostile };
        const { id } = await visit(`/x?${encodeURIComponent(hostile)}`, { method: "POST", headers, body });
        await look(id);
        await captured().getByText(hostile).first().waitFor();
        assert.equal(await captured().locator("script, iframe, [onerror], [onload]").count(), 0);
      }
      watched.assertQuiet();
    });

    it("a request stored by an agent is not visible to everyone, and the console explains why", async () => {
      const closed = await start("--inspector", "0", "--remote-management", "false");
      const { id } = await visit("/closed", {}, closed.url);
      await look(id);
      await captured().getByText("does not allow remote access").waitFor();
      const silent = await start("--inspector", "off");
      const { id: kept } = await visit("/silent", {}, silent.url);
      await look(kept);
      await captured().getByText("The agent does not capture").waitFor();
      await silent.agent.end();
      await page.reload();
      await captured().getByText("is no longer connected").waitFor();
      watched.assertQuiet();
    });

    it("a request stored by an agent is not offered in the console to a key that may not read it", async () => {
      const { id } = await visit("/limited");
      const limited = await openWatched(chromium, inspected.platform.apiUrl);
      const { page: other } = limited;
      await other.goto(inspected.platform.apiUrl);
      await other.getByLabel("API key").fill(await keyWith(["read"]));
      await other.keyboard.press("Enter");
      await other.getByRole("heading", { name: "Overview" }).waitFor();
      await other.goto(`${inspected.platform.apiUrl}/#/traffic/${id}`);
      await other.getByText("Use a key or role with the scope exchanges").waitFor();
      assert.equal(await other.getByRole("button", { name: "Replay" }).count(), 0);
      limited.assertQuiet();
      await limited.context.close();
    });

    it("a request stored by an agent has no serious accessibility fault in the console in both colours, and fits 360 px", async () => {
      const headers = { "content-type": "application/json" };
      const { id } = await visit(`/${"long".repeat(30)}`, { method: "POST", headers, body: `["${"x".repeat(400)}"]` });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width: colorScheme === "dark" ? 360 : 1280, height: 800 });
        await look(id);
        await captured().getByLabel("Response body", { exact: true }).waitFor();
        await assertAccessible(page, colorScheme);
        assert.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false, colorScheme);
      }
      watched.assertQuiet();
    });
  });
});
