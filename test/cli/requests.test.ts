/** `postern requests`: lists, follows and exports the requests that a server has captured. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { runSharedCommand } from "../support/shared-command.ts";

const url = "https://app.requests.test";
const policy = `on_http_request:
  - expressions: ["req.url.path == '/no'"]
    actions: [{ type: deny, config: { status_code: 404 } }]
  - actions: [{ type: custom-response, config: { status_code: 200, body: hello } }]
`;

describe("postern requests", () => {
  let platform: TestPlatform;
  const postern = (...args: readonly string[]) =>
    runSharedCommand(["requests", ...args], { env: { POSTERN_DATA: platform.directory } });

  before(async () => {
    platform = await startPlatform();
    const made = await platform.api("POST", "/endpoints", { url, type: "cloud", traffic_policy: policy, capture: {} });
    assert.equal(made.status, 201, made.text);
    for (const http of ["h1", "h2"] as const) {
      for (const path of ["/a?token=1", "/no", "/b"]) await platform.request(url + path, { http });
    }
    await eventually(
      async () => (await platform.api("GET", "/requests?since=1h")).body.requests as { captured: boolean }[],
      (list) => list.filter(({ captured }) => captured).length === 6,
    );
  });
  after(() => platform.stop());

  it("postern requests list prints requests by their properties, for people and as JSON", async () => {
    const { code, stdout, stderr } = await postern("list", "--since", "1h", "--outcome", "denied");
    assert.equal(code, 0, stderr);
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.length, 2);
    for (const line of lines) {
      assert.match(
        line,
        /^denied {4}\S+ {2}req_\w+ {2}404 {2}GET app\.requests\.test\/no {2}127\.0\.0\.1 {2}.* {2}traffic_policy: /,
      );
    }
    const json = await postern("list", "--path", "/a*", "--status", "200", "--json");
    const found = json.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { path: string; captured: boolean });
    assert.deepEqual(
      found.map(({ path, captured }) => [path, captured]),
      [
        ["/a", true],
        ["/a", true],
      ],
    );
    assert.equal((await postern("list", "--limit", "3")).stdout.trimEnd().split("\n").length, 3);
  });

  it("postern requests list names a wrong condition", async () => {
    const { code, stderr } = await postern("list", "--source-ip", "here");
    assert.equal(code, 2);
    assert.match(stderr, /"source_ip" must be an IP address/);
  });

  it("postern requests export writes captured requests with their header fields", async () => {
    const { code, stdout, stderr } = await postern("export", "--since", "1h", "--path", "/a");
    assert.equal(code, 0, stderr);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { target: string; headers: string[][] });
    assert.deepEqual(
      lines.map(({ target }) => target),
      ["/a?token=1", "/a?token=1"],
    );
    assert.ok(lines.every(({ headers }) => headers.length > 0));
    const har = JSON.parse((await postern("export", "--format", "har")).stdout) as { log: { entries: object[] } };
    assert.equal(har.log.entries.length, 6);
    const refused = await postern("export", "--until", "never");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /"until" must be a time/);
  });

  it("postern requests tail prints requests as they end", async () => {
    const tail = startCommand(["requests", "tail", "--json"], { env: { POSTERN_DATA: platform.directory } });
    try {
      const first = tail.firstLine();
      let printed: string | undefined;
      void first.then((line) => (printed = line));
      // The command prints nothing that ended before its first look.
      await eventually(
        async () => {
          await platform.request(`${url}/tail`);
          return printed;
        },
        (line) => line !== undefined,
      );
      assert.equal((JSON.parse(printed ?? "") as { path: string }).path, "/tail");
    } finally {
      await tail.end();
    }
  });
});
