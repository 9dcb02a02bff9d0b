/** The public agent SDK, unchanged, against the whole platform: given a server address, a CA and a token. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startPlatform } from "../support/platform.ts";
import type { Answer, TestPlatform } from "../support/platform.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

describe("the public agent SDK", { timeout: 180_000 }, () => {
  let platform: TestPlatform;
  let sdk: SdkProcess;
  let url: string;

  before(async () => {
    platform = await startPlatform();
    sdk = await startSdk();
    await sdk.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken });
  });
  after(async () => {
    await sdk.stop();
    await platform.stop();
  });

  it("the public agent SDK binds an http tunnel and serves its requests, over HTTP/1.1 and HTTP/2", async () => {
    const answer = await sdk.ask({ name: "http", domain: "sdk.localhost" });
    url = answer.url as string;
    assert.equal(new URL(url).hostname, "sdk.localhost");
    for (const http of ["h1", "h2"] as const) {
      const { status, text } = await platform.request(`${url}/over/${http}`, { http });
      assert.deepEqual({ status, text }, { status: 200, text: `hello from /over/${http}` });
    }
    const { body } = await platform.api("GET", "/tunnels");
    assert.deepEqual(
      body.tunnels.map((tunnel: { public_url: string; proto: string }) => [tunnel.public_url, tunnel.proto]),
      [[url, "https"]],
    );
  });

  it("the public agent SDK binds a labelled tunnel and serves the edge with its labels", async () => {
    const { body: backend } = await platform.api("POST", "/backends/tunnel_group", {
      labels: { app: "web", dc: "eu" },
    });
    const { body: edge } = await platform.api("POST", "/edges/https", { hostports: ["labelled.localhost:443"] });
    await platform.api("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id: backend.id },
    });
    await sdk.ask({ name: "labelled", labels: { app: "web", dc: "eu", rack: "7" } });
    const answer = await served(() => platform.request("https://labelled.localhost/here"));
    assert.equal(answer.text, "hello from /here");
    const { body: seen } = await platform.api("GET", `/backends/tunnel_group/${backend.id}`);
    assert.equal(seen.tunnels.length, 1);
  });

  it("the public agent SDK is refused with a code that it can read when its token is wrong", async () => {
    const other = await startSdk();
    try {
      await assert.rejects(
        other.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: "not-a-token" }),
        (error: Error & { errorCode?: string }) => error.errorCode === "ERR_NGROK_107",
      );
    } finally {
      await other.stop();
    }
  });

  it("A6, A9: the public agent SDK releases a name when its session closes, even if its connection stays open", async () => {
    const asked = { name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken } as const;
    const [before, next] = await Promise.all([startSdk(), startSdk()]);
    try {
      await before.ask(asked);
      await before.ask({ name: "http", domain: "handed.localhost" });
      await next.ask(asked);
      await assert.rejects(next.ask({ name: "http", domain: "handed.localhost" }), /"ts_\w+".* ERR_NGROK_334/);
      await before.ask({ name: "closeSession" });
      const { url: given } = await next.ask({ name: "http", domain: "handed.localhost" });
      assert.equal((await served(() => platform.request(`${given}/x`))).text, "hello from /x");
    } finally {
      await Promise.all([before.stop(), next.stop()]);
    }
  });

  it("the public agent SDK returns with the same URL and options after the server restarts", async () => {
    const locked = await sdk.ask({ name: "http", domain: "locked.localhost", credentials: [["ann", "correct horse"]] });
    const shown = { headers: { authorization: `Basic ${Buffer.from("ann:correct horse").toString("base64")}` } };
    await platform.restart();
    assert.equal((await served(() => platform.request(`${locked.url}/in`, shown))).text, "hello from /in");
    assert.equal((await platform.request(`${locked.url}/out`)).status, 401);
    assert.equal((await served(() => platform.request(`${url}/again`))).text, "hello from /again");
    const labelled = await served(() => platform.request("https://labelled.localhost/too"));
    assert.equal(labelled.text, "hello from /too");
  });

  it("the public agent SDK applies its traffic policy, and receives the errors of an invalid one", async () => {
    const trafficPolicy = JSON.stringify({
      on_http_request: [
        { expressions: ["req.url.path == '/closed'"], actions: [{ type: "deny", config: { status_code: 451 } }] },
      ],
      on_http_response: [{ actions: [{ type: "add-headers", config: { headers: { "x-policy": "acts" } } }] }],
    });
    const answer = await sdk.ask({ name: "http", domain: "policy.localhost", trafficPolicy });
    const at = answer.url as string;
    for (const http of ["h1", "h2"] as const) {
      assert.equal((await platform.request(`${at}/closed`, { http })).status, 451);
      const { status, headers } = await platform.request(`${at}/open`, { http });
      assert.deepEqual([status, headers["x-policy"]], [200, "acts"]);
    }
    await assert.rejects(
      sdk.ask({ name: "http", domain: "wrong.localhost", trafficPolicy: "on_http_respons: []" }),
      /9026|did you mean/,
    );
  });
});

/** The service's first response. Until its tunnel is known, the edge answers that there is none. */
async function served(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status === 200) return answer;
    assert.ok([404, 503].includes(answer.status), `answered ${answer.status}: ${answer.text}`);
    // The SDK decides when it retries. Polling without a pause would use up the processor.
    await pause(50);
  }
}
