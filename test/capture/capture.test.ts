import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "../../src/lib/http.ts";
import type { AddressInfo } from "node:net";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";

const policy = `on_http_request:
  - expressions: ["req.url.path == '/denied'"]
    actions: [{ type: deny, config: { status_code: 403 } }]
  - expressions: ["req.url.path == '/export'"]
    actions: [{ type: forward-internal, config: { url: "https://service.internal" } }]
  - actions: [{ type: custom-response, config: { status_code: 200, body: hello } }]
`;

for (const database of databases) {
  describe(`capture on ${database.name}`, () => {
    let platform: TestPlatform;
    let stored: Awaited<ReturnType<typeof database.create>>;
    const service = createServer((request, response) => {
      request.resume().on("end", () => response.setHeader("set-cookie", "a=canary-set-cookie").end("done"));
    });
    let endpointId = "";

    before(async () => {
      stored = await database.create();
      platform = await startPlatform({ database: stored.url });
      service.listen(0, "127.0.0.1");
      await once(service, "listening");
      const { port } = service.address() as AddressInfo;
      await platform.startAgent({ upstream: port, url: "https://service.internal" });
      const url = "https://app.capture.test";
      const capture = { redact_headers: ["x-key"], redact_query: ["token"] };
      const made = await platform.api("POST", "/endpoints", { url, type: "cloud", traffic_policy: policy, capture });
      assert.equal(made.status, 201, made.text);
      endpointId = made.body.id;
    });
    after(async () => {
      await platform.stop();
      await stored.drop();
      service.close();
    });

    const requests = async (query: string) => {
      const { status, body, text } = await platform.api("GET", `/requests?${query}`);
      assert.equal(status, 200, text);
      return body.requests as readonly { id: string; path: string; captured: boolean; status_code: number }[];
    };

    for (const http of ["h1", "h2"] as const) {
      it(`capture returns requests over ${http} by time, path, status and module, and finds each by its id`, async () => {
        const headers = { authorization: "Bearer canary-authorization", "x-key": "canary-key" };
        for (const path of [`/a${http}`, "/denied", `/a${http}?token=canary-query`]) {
          await platform.request(`https://app.capture.test${path}`, { http, headers });
        }
        const found = await eventually(
          () => requests(`path=/a${http}&since=1h`),
          (list) => list.filter(({ captured }) => captured).length === 2,
        );
        assert.deepEqual(
          found.map(({ status_code }) => status_code),
          [200, 200],
        );
        const denied = await requests("status=403&module=traffic_policy&source_ip=127.0.0.1");
        assert.ok(denied.length > 0 && denied.every(({ path, captured }) => path === "/denied" && captured));
        const one = await platform.api("GET", `/requests/${found[0]?.id}`);
        assert.equal(one.body.captured, true);
        assert.deepEqual(await requests(`path=/a${http}&until=1h`), []);
        assert.deepEqual(await requests("user=ann@example.com"), []);
      });
    }

    it("K4: capture returns no secret, and has none on the disk", async () => {
      const { text } = await platform.api("GET", "/requests");
      assert.equal(text.includes("canary"), false);
      const directory = join(platform.directory, "capture");
      const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((file) =>
        file.endsWith(".requests"),
      );
      assert.ok(files.length > 0);
      for (const file of files) assert.equal(readFileSync(join(directory, file)).includes("canary"), false);
    });

    it("capture exports requests as JSON Lines and HAR, with header fields and bodies only for the scope exchanges", async () => {
      const capture = { body_bytes: 4, redact_headers: ["x-key"], redact_query: ["token"] };
      const patched = await platform.api("PATCH", `/endpoints/${endpointId}`, { capture });
      assert.equal(patched.status, 200, patched.text);
      assert.equal(patched.body.capture.body_bytes, 4);
      const sent = { method: "POST", body: "123456", headers: { "x-shown": "shown", "x-key": "canary-key" } };
      for (let count = 0; count < 120; count += 1) await platform.request("https://app.capture.test/export", sent);
      await eventually(
        () => requests("path=/export"),
        (list) => list.length === 100 && list.every(({ captured }) => captured),
      );
      const key = await platform.api("POST", "/api_keys", { scopes: ["read"] });
      const exported = async (query: string, token?: string) => {
        const answer = await fetch(`${platform.apiUrl}/requests/export?path=/export&${query}`, {
          headers: { authorization: `Bearer ${token ?? platform.apiKey}`, "service-version": "2" },
        });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.equal(text.includes("canary"), false);
        return text;
      };
      const linesOf = (text: string) =>
        text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
      // A request is stored soon after it ended.
      const lines = await eventually(
        async () => linesOf(await exported("")),
        (list) => new Set(list.map(({ id }) => id)).size === 120,
      );
      assert.equal(Buffer.from(lines[0].body, "base64").toString(), "1234");
      assert.ok(lines[0].headers.some(([name, value]: [string, string]) => name === "x-shown" && value === "shown"));
      const plain = await exported("", key.body.token);
      assert.equal(plain.trimEnd().split("\n").length, 120);
      assert.equal(plain.includes("x-shown") || plain.includes("MTIzNA"), false);
      const { entries } = JSON.parse(await exported("format=har")).log;
      assert.equal(entries.length, 120);
      assert.equal(entries[0].request.url, "https://app.capture.test/export");
      const empty = JSON.parse(await exported("format=har&status=500"));
      assert.deepEqual(empty.log.entries, []);
    });

    it("capture follows the tunnel's own option, which an agent changes with its next tunnel", async () => {
      const { port } = service.address() as AddressInfo;
      const url = "https://agent.capture.test";
      for (const [at, Capture] of [{ redact_headers: ["x-key"] }, { enabled: false }].entries()) {
        const agent = await platform.startAgent({ upstream: port, url, tunnel: { options: { Capture } } });
        for (const http of ["h1", "h2"] as const) {
          const sent = { http, headers: { "x-key": "canary-key" } };
          assert.equal((await platform.request(`${url}/tunnel${at}${http}`, sent)).status, 200);
        }
        await agent.close();
      }
      const found = await eventually(
        () => requests("path=/tunnel*&since=1h"),
        (list) => list.filter(({ captured }) => captured).length === 2,
      );
      const captured = found.filter((one) => one.captured).map(({ path }) => path);
      assert.deepEqual(captured.toSorted(), ["/tunnel0h1", "/tunnel0h2"]);
      const { text } = await platform.api("GET", "/requests/export?format=har&path=/tunnel*");
      assert.match(text, /"x-key"/);
      assert.equal(text.includes("canary"), false);
    });

    it("capture returns requests from before a restart", async () => {
      const before = await requests("path=/a*");
      await platform.restart();
      const afterwards = await eventually(
        () => requests("path=/a*"),
        (list) => list.length === before.length,
      );
      assert.deepEqual(afterwards, before);
      assert.ok(afterwards.every(({ captured }) => captured));
    });

    it("capture stores nothing where it is off", async () => {
      await platform.api("PATCH", `/endpoints/${endpointId}`, { capture: { enabled: false } });
      await platform.request("https://app.capture.test/off");
      const [one] = await requests("path=/off");
      assert.equal(one?.captured, false);
    });
  });
}
