import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent();
  for (const one of ipPolicy("ipp_elsewhere", { "192.0.2.0/24": "allow" })) fixture.put(one.kind, one.id, one.doc);
  for (const one of ipPolicy("ipp_here", { "127.0.0.0/8": "allow", "127.0.0.9/32": "deny" })) {
    fixture.put(one.kind, one.id, one.doc);
  }
});
after(() => fixture.stop());

function restrict(type: string, policy: string, enforced = true): void {
  fixture.put("ip_restriction", `ipx_${type}`, { type, enforced, ip_policy_ids: [policy] });
}

describe("an account's restriction", () => {
  it("R4: an account's restriction on endpoints applies to its edges and to agents' endpoints, immediately and until it is removed", async () => {
    const name = "own.apps.example.com";
    await fixture.agent.bind({ hostname: name });
    for (const protocol of protocols) {
      for (const asked of [host, name]) {
        assert.equal((await fixture.ask(protocol, { host: asked })).status, 200);
        restrict("endpoints", "ipp_elsewhere");
        const before = fixture.received.length;
        const denied = await fixture.ask(protocol, { host: asked });
        assert.equal(denied.status, 403);
        assert.equal(denied.headers["postern-error-code"], errorCode("source_denied"));
        assert.equal(fixture.received.length, before);
        restrict("endpoints", "ipp_here");
        assert.equal((await fixture.ask(protocol, { host: asked })).status, 200);
        assert.equal((await fixture.ask(protocol, { host: asked, source: "127.0.0.9" })).status, 403);
        restrict("endpoints", "ipp_elsewhere", false);
        assert.equal((await fixture.ask(protocol, { host: asked, source: "127.0.0.9" })).status, 200);
      }
    }
  });

  it("R4: an account's restriction on agents refuses agents from other addresses, and disconnects present ones", async () => {
    restrict("agent", "ipp_here");
    const own = await connectAgent(fixture.edge, fixture.token, fixture.servicePort);
    restrict("agent", "ipp_elsewhere");
    await own.closed;
    await assert.rejects(
      connectAgent(fixture.edge, fixture.token, fixture.servicePort),
      new RegExp(String.raw`${errorCode("agent_source_denied")}|does not allow the agent`),
    );
    restrict("agent", "ipp_elsewhere", false);
    (await connectAgent(fixture.edge, fixture.token, fixture.servicePort)).close();
  });
});
