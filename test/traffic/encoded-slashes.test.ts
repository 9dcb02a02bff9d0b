/** Encoded slashes, and bytes that are not UTF-8: accepted where no route and no rule can be bypassed by them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";

/** GitLab, npm, RabbitMQ, Argo CD; a name in Latin-1. */
const accepted = [
  "/api/v4/projects/group%2Fproject/repository/files/src%2fmain.c/raw?ref=a%2Fb",
  "/@scope%2Fname",
  "/api/queues/%2F/orders",
  "/api/v1/repositories/https:%2F%2Fgit.example.com%2Frepo.git",
  "/caf%E9/%ff",
];
/** Spellings that some server could read as another path. */
const ambiguous = ["/a/..%2Fadmin", "/a%2F..%2Fadmin", "/a%2f%2e%2e/admin", "/a%2F..;/admin", "/a%5Cb", "/a%2F%00"];

const policy = (rule: object) => ({
  traffic_policy: { enabled: true, value: JSON.stringify({ on_http_request: [rule] }) },
});
const deny = [{ type: "deny" }];

let fixture: EdgeWithAgent;
let allowing: EdgeWithAgent;
before(async () => {
  [fixture, allowing] = await Promise.all([startEdgeWithAgent(), startEdgeWithAgent({ allowEncodedSlashes: true })]);
  for (const { kind, id, doc } of ipPolicy("ipp_staff", { "127.0.0.9/32": "allow" })) {
    fixture.put(kind, id, doc);
    allowing.put(kind, id, doc);
  }
});
after(() => Promise.all([fixture.stop(), allowing.stop()]));

async function ask(at: EdgeWithAgent, protocol: Protocol, path: string, host?: string) {
  const reached = at.received.length;
  const { status, headers } = await at.ask(protocol, { path, ...(host !== undefined && { host }) });
  return [status, headers["postern-error-code"] ?? at.received[reached]?.url] as const;
}

function closed(at: EdgeWithAgent, match: string): void {
  at.put("https_edge_route", "edghtsrt_c", {
    edge_id: "edghts_1",
    match_type: "path_prefix",
    match,
    backend: { enabled: true, backend_id: "bkdtg_1" },
    ip_restriction: { enabled: true, ip_policy_ids: ["ipp_staff"] },
  });
}

for (const protocol of protocols) {
  describe(`encoded slashes over ${protocol}`, () => {
    it(`encoded slashes over ${protocol} reach the service unchanged if one route matches every path`, async () => {
      fixture.route({});
      for (const path of accepted) assert.deepEqual(await ask(fixture, protocol, path), [200, path]);
      fixture.route(policy({ expressions: ["req.method == 'POST'"], actions: deny }));
      for (const path of accepted) assert.deepEqual(await ask(fixture, protocol, path), [200, path]);
    });

    it(`R1: encoded slashes over ${protocol} are refused by name if another route has a path`, async () => {
      fixture.route({});
      closed(fixture, "/admin");
      const slash = errorCode("encoded_slash_refused");
      for (const path of [...accepted.slice(0, -1), "/admin%2Fx", "/%2Fadmin"]) {
        assert.deepEqual(await ask(fixture, protocol, path), [400, slash], path);
      }
      assert.deepEqual(await ask(fixture, protocol, "/caf%E9"), [400, errorCode("path_not_utf8")]);
      const { text } = await fixture.ask(protocol, { path: "/a%2Fb" });
      assert.match(text, /encoded slash \(%2F\).*--encoded-slashes.*--allow-encoded-slashes/s);
      fixture.edge.remove("https_edge_route", "edghtsrt_c");
    });

    it(`R1: encoded slashes over ${protocol} are refused if a rule or an action reads the path`, async () => {
      const reading = [
        { expressions: ["req.url.path.startsWith('/admin')"], actions: deny },
        { expressions: ["req.url.contains('/admin')"], actions: deny },
        { expressions: ["req.URL.RawPath == '/admin'"], actions: deny },
        { actions: [{ type: "add-headers", config: { headers: { "x-path": "${req.url.uri}" } } }] },
        { actions: [{ type: "url-rewrite", config: { from: "/admin", to: "/closed" } }] },
        { actions: [{ type: "redirect", config: { from: "/admin", to: "/closed" } }] },
      ];
      for (const rule of reading) {
        fixture.route(policy(rule));
        const expected = [400, errorCode("encoded_slash_refused")];
        assert.deepEqual(await ask(fixture, protocol, "/admin%2Fx"), expected, JSON.stringify(rule));
      }
      fixture.route({});
    });

    it(`R1: encoded slashes over ${protocol} are refused if an internal endpoint, to which a rule forwards, reads the path`, async () => {
      const agent = await connectAgent(fixture.edge, fixture.token, fixture.servicePort);
      const reads = { on_http_request: [{ expressions: ["req.url.path == '/admin'"], actions: deny }] };
      await agent.bind({ hostname: "reading.internal", trafficPolicy: JSON.stringify(reads) });
      fixture.route(policy({ actions: [{ type: "forward-internal", config: { url: "https://reading.internal" } }] }));
      assert.deepEqual(await ask(fixture, protocol, "/a%2Fb"), [400, errorCode("encoded_slash_refused")]);
      assert.deepEqual(await ask(fixture, protocol, "/a/b"), [200, "/a/b"]);
      agent.close();
      fixture.route({});
    });

    it(`R1: encoded slashes over ${protocol} that are allowed still lead to no other route than their decoded form`, async () => {
      const refused = [400, errorCode("encoded_slash_refused")];
      for (const [at, blocks] of [
        [fixture, { forwarding: { enabled: true, response_timeout: 0, encoded_slashes: true } }],
        [allowing, {}],
      ] as const) {
        at.route(blocks);
        closed(at, "/admin");
        for (const path of accepted) assert.deepEqual(await ask(at, protocol, path), [200, path]);
        for (const path of ["/admin%2Fx", "/admin%2f", "/%61dmin%2Fx"]) {
          assert.deepEqual(await ask(at, protocol, path), refused, path);
        }
        assert.deepEqual(await ask(at, protocol, "/x/%C0%AE%C0%AE/admin"), [400, errorCode("path_not_utf8")]);
        assert.deepEqual((await ask(at, protocol, "/admin/a%2Fb"))[0], at === allowing ? 403 : 400);
        at.edge.remove("https_edge_route", "edghtsrt_c");
        at.route({});
      }
    });

    it(`R1: encoded slashes over ${protocol} are refused everywhere if a server could resolve dots after decoding`, async () => {
      fixture.route({});
      for (const path of ambiguous) {
        assert.deepEqual(await ask(fixture, protocol, path), [400, errorCode("bad_request")], path);
        assert.deepEqual(await ask(allowing, protocol, path), [400, errorCode("bad_request")], path);
      }
      const { text } = await fixture.ask(protocol, { path: "/a/..%2Fadmin" });
      assert.match(text, /the path has a \\"\.\\" or \\"\.\.\\" segment beside an encoded slash \(%2F\)/);
    });

    it(`encoded slashes over ${protocol} are accepted at a tunnel, unless its policy reads the path and the agent does not allow them`, async () => {
      const agent = await connectAgent(fixture.edge, fixture.token, fixture.servicePort);
      const reads = JSON.stringify({ on_http_request: [{ expressions: ["req.url.path == '/x'"], actions: deny }] });
      const host = "plain.apps.example.com";
      const strict = "strict.apps.example.com";
      const allowed = "allowed.apps.example.com";
      await agent.bind({ hostname: host });
      await agent.bind({ hostname: strict, trafficPolicy: reads });
      await agent.bind({
        hostname: allowed,
        trafficPolicy: reads,
        options: { Forwarding: { response_timeout: 0, encoded_slashes: true } },
      });
      for (const path of accepted) {
        assert.deepEqual(await ask(fixture, protocol, path, host), [200, path]);
        assert.equal((await ask(fixture, protocol, path, strict))[0], 400);
        assert.deepEqual(await ask(fixture, protocol, path, allowed), [200, path]);
      }
      agent.close();
    });
  });
}

it("explain refuses an encoded slash as the edge does, and names it", async () => {
  fixture.route({});
  const explained = async (): Promise<string> => {
    const request = {
      method: "GET",
      target: "/a%2Fb",
      host: "app.example.com",
      headers: [],
      body: "",
      source: "192.0.2.1",
      response: undefined,
    };
    return JSON.stringify(
      await fixture.edge.question({ name: "explain_request", accountId: "ac_1", siteId: "edghts_1", request }),
    );
  };
  assert.match(await explained(), /"tunnel":\{/);
  closed(fixture, "/admin");
  assert.match(await explained(), /has an encoded slash \(%2F\), and the host's routes distinguish paths/);
  fixture.edge.remove("https_edge_route", "edghtsrt_c");
});
