import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

let platform: TestPlatform;
let upstream: HttpService;
let edge: ApiBody;
let rule: ApiBody;

before(async () => {
  platform = await startPlatform();
  upstream = await startHttpService((_request, response) => response.end());
  await platform.startAgent({ upstream: upstream.port, labels: { app: "shop" } });
  const backend = (await platform.api("POST", "/backends/tunnel_group", { labels: { app: "shop" } })).body;
  const policy = (await platform.api("POST", "/ip_policies", {})).body;
  const given = { ip_policy_id: policy.id, cidr: "203.0.113.0/24", action: "allow" };
  rule = (await platform.api("POST", "/ip_policy_rules", given)).body;
  await platform.api("POST", "/edges/https", { hostports: ["*.localhost:443"] });
  edge = (await platform.api("POST", "/edges/https", { hostports: ["shop.localhost:443"] })).body;
  const made = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
    match_type: "path_prefix",
    match: "/admin",
    backend: { backend_id: backend.id },
    ip_restriction: { ip_policy_ids: [policy.id] },
    user_agent_filter: { allow: [], deny: ["curl"] },
  });
  assert.equal(made.status, 201, made.text);
});
after(async () => {
  await platform.stop();
  await upstream.stop();
});

const explain = (...args: string[]) => runSharedCommand(["explain", "--data", platform.directory, ...args]);

describe("postern explain", () => {
  it("postern explain prints which rule decides, and the destination of the request", async () => {
    const { code, stdout, stderr } = await explain(
      "GET",
      "https://shop.localhost/admin/x",
      "-H",
      "user-agent: browser",
      "--ip",
      "203.0.113.7",
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^edge {3}${edge.id} `));
    assert.match(stdout, new RegExp(`✓ ip_restriction +.*${rule.id}`));
    assert.match(stdout, /forwarded through tn_\w+ to http:\/\/localhost:\d+|forwarded through tn_\w+ to /);
  });

  it("postern explain prints why a request is denied, and JSON for programs", async () => {
    const denied = await explain("GET", "https://shop.localhost/admin", "-H", "user-agent: curl/8", "--ip=203.0.113.7");
    assert.match(denied.stdout, /✗ user_agent_filter/);
    assert.match(denied.stdout, new RegExp(String.raw`denied: 403 ${errorCode("user_agent_denied")}\n$`));
    const { code, stdout } = await explain("POST", "https://shop.localhost/administrator", "--body", "x", "--json");
    assert.equal(code, 0);
    const told = JSON.parse(stdout) as ApiBody;
    assert.equal(told.outcome, "denied");
    assert.match(told.near_routes[0].reason, /within a segment/);
  });

  it("postern explain also explains connections to TLS and TCP edges", async () => {
    const backend = (await platform.api("POST", "/backends/tunnel_group", { labels: { app: "shop" } })).body;
    const policy = (await platform.api("POST", "/ip_policies", {})).body;
    const given = { ip_policy_id: policy.id, cidr: "203.0.113.0/24", action: "allow" };
    await platform.api("POST", "/ip_policy_rules", given);
    const blocks = { backend: { backend_id: backend.id }, ip_restriction: { ip_policy_ids: [policy.id] } };
    const { addr } = (await platform.api("POST", "/reserved_addrs", {})).body;
    const made = [
      [
        "tls://mail.localhost",
        await platform.api("POST", "/edges/tls", { hostports: ["mail.localhost:443"], ...blocks }),
      ],
      [`tcp://${addr}`, await platform.api("POST", "/edges/tcp", { hostports: [addr], ...blocks })],
    ] as const;
    for (const [address, { status, body, text }] of made) {
      assert.equal(status, 201, text);
      const { code, stdout, stderr } = await explain(address, "--ip", "203.0.113.7");
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^edge {3}${body.id} `));
      assert.match(stdout, /✓ ip_restriction [^]*\nforwarded through tn_/);
      const denied = await explain(address, "--ip", "198.51.100.7");
      assert.match(
        denied.stdout,
        new RegExp(String.raw`✗ ip_restriction [^]*\ndenied: 403 ${errorCode("source_denied")}\n$`),
      );
    }
  });

  it("explains the outcome of a request or a connection to an agent's own endpoint", async () => {
    const agent = await platform.startAgent({ upstream: upstream.port });
    const told = await explain("GET", agent.url, "--json");
    assert.equal(told.code, 0, told.stderr);
    const { edge: site, outcome, tunnel, route } = JSON.parse(told.stdout) as ApiBody;
    assert.deepEqual([site.kind, route.id, outcome], ["endpoint", site.id, "forwarded"]);
    assert.equal((await platform.api("GET", `/tunnels/${tunnel.id}`)).body.endpoint.id, site.id);
    const refused = await platform.api("POST", `/endpoints/${site.id}/explain`, {
      url: "https://elsewhere.localhost/",
    });
    assert.equal(refused.status, 400);
    assert.match(refused.body.details.url, /must lead to this endpoint/);
  });

  it("explains the outcome of a request or a connection to a cloud endpoint, inside and outside", async () => {
    const phases = { https: "on_http_request", tls: "on_tcp_connect", tcp: "on_tcp_connect" } as const;
    for (const url of [
      "https://cloud.localhost",
      "tls://cloudtls.localhost",
      "tcp://db.internal:5432",
      "https://in.internal",
    ]) {
      const phase = phases[url.slice(0, url.indexOf(":")) as keyof typeof phases];
      const traffic_policy = JSON.stringify({ [phase]: [{ name: "all", actions: [{ type: "deny" }] }] });
      const made = await platform.api("POST", "/endpoints", { url, type: "cloud", traffic_policy });
      assert.equal(made.status, 201, made.text);
      const { status, body, text } = await platform.api("POST", `/endpoints/${made.body.id}/explain`, {});
      assert.equal(status, 200, text);
      assert.equal(body.outcome, "denied", text);
      assert.match(text, /\[0\] \\"all\\": deny/);
    }
  });

  it("postern explain reports what it cannot explain", async () => {
    for (const wrong of [["tls://shop.localhost", "-H", "a: b"], ["tcp://db.localhost"], ["https://shop.localhost/"]]) {
      assert.equal((await explain(...wrong)).code, 2, wrong.join(" "));
    }
    assert.match(
      (await explain("tls://shop.localhost")).stderr,
      /no TLS edge and no agent of this account serves "shop.localhost"/,
    );
    const elsewhere = await explain("GET", "https://elsewhere.example/");
    assert.deepEqual([elsewhere.code, elsewhere.stdout], [7, ""]);
    assert.match(elsewhere.stderr, /no HTTPS edge and no agent of this account serves "elsewhere.example"/);
    assert.equal((await explain("GET", "http://shop.localhost/")).code, 7);
    assert.equal((await explain("GET", "https://shop.localhost/", "-H", "no colon")).code, 2);
    assert.equal((await explain("GET", "https://shop.localhost/", "--ip", "nowhere")).code, 2);
  });
});
