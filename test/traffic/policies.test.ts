import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { protocols } from "../support/agents.ts";
import { startFixture } from "../support/modules.ts";
import type { Fixture } from "../support/modules.ts";

let fixture: Fixture;
before(async () => (fixture = await startFixture()));
after(() => fixture.stop());

const policy = (value: object | string) =>
  fixture.route({
    traffic_policy: { enabled: true, value: typeof value === "string" ? value : JSON.stringify(value) },
  });

for (const protocol of protocols) {
  describe(`a traffic policy over ${protocol}`, () => {
    it("refuses where its expressions hold, and nowhere else", async () => {
      policy({
        on_http_request: [
          {
            expressions: ["req.url.path.startsWith('/admin/')", "!(req.method in ['GET', 'HEAD'])"],
            actions: [{ type: "deny", config: { status_code: 405 } }],
          },
        ],
      });
      const denied = await fixture.ask(protocol, { method: "POST", path: "/admin/x" });
      assert.deepEqual([denied.status, denied.body.length], [405, 0]);
      assert.equal((await fixture.ask(protocol, { path: "/admin/x" })).status, 200);
      assert.equal((await fixture.ask(protocol, { method: "POST", path: "/x" })).status, 200);
    });

    it("answers by itself, and its response rules act on that", async () => {
      policy(`
on_http_request:
  - expressions: ["'2' in getReqHeader('X-Api-Version')"]
    actions: [{type: custom-response, config: {status_code: 400, body: "<h1>old \${req.method}</h1>"}}]
on_http_response:
  - actions: [{type: add-headers, config: {headers: {x-edge: "status \${res.status_code}"}}}]
`);
      const answered = await fixture.ask(protocol, { headers: { "x-api-version": "2" } });
      assert.deepEqual(
        [answered.status, answered.body.toString(), answered.headers["content-type"], answered.headers["x-edge"]],
        [400, "<h1>old GET</h1>", "text/html; charset=utf-8", "status 400"],
      );
      const passed = await fixture.ask(protocol);
      assert.deepEqual([passed.status, passed.headers["x-edge"]], [200, "status 200"]);
    });

    it("adds what it knows to requests", async () => {
      policy({
        on_http_request: [
          {
            actions: [
              {
                type: "add-headers",
                config: { headers: { "x-client": "${conn.client_ip}", "x-seen": "${req.method} ${req.url.path}" } },
              },
            ],
          },
        ],
      });
      await fixture.ask(protocol, { path: "/a" });
      const seen = fixture.received.at(-1)?.headers;
      assert.deepEqual([seen?.["x-client"], seen?.["x-seen"]], ["127.0.0.1", "GET /a"]);
    });
  });
}
