/** Static backends with forbidden addresses: reported by explain, the trace and the error page (I7). */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { ExplanationReport } from "../../src/routing/planes/edge-questions.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
let connections = 0;
const inside = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
before(async () => {
  inside.listen(0, "127.0.0.1");
  await once(inside, "listening");
  const { port } = inside.address() as AddressInfo;
  fixture = await startEdgeWithAgent();
  fixture.put("static_backend", "bkdsc_name", { address: `localhost:${port}`, tls: { enabled: false } });
  fixture.put("static_backend", "bkdsc_literal", { address: `127.0.0.1:${port}`, tls: { enabled: true } });
  fixture.put("failover_backend", "bkdfo_none", { backends: ["bkdsc_name", "bkdsc_literal"] });
  fixture.put("failover_backend", "bkdfo_tunnel", { backends: ["bkdsc_name", "bkdsc_literal", "bkdtg_1"] });
});
after(async () => {
  inside.close();
  await fixture.stop();
});

async function explained(): Promise<ExplanationReport> {
  const request = { method: "GET", host, target: "/", headers: [], source: "127.0.0.1", body: "", response: undefined };
  const told = await fixture.edge.question({ name: "explain_request", accountId: "ac_1", siteId: "edghts_1", request });
  if (told.name !== "explanation") throw new Error(told.name);
  return told.explanation;
}

for (const protocol of protocols) {
  describe(`a static backend at an address that is not allowed, over ${protocol}`, () => {
    for (const [backend, loopback] of [
      ["bkdsc_name", '"localhost" leads to a loopback address'],
      ["bkdsc_literal", '"127.0.0.1" is a loopback address'],
      ["bkdfo_none", '"localhost" leads to a loopback address'],
    ] as const) {
      it(`I7: a static backend at a forbidden address over ${protocol} is reported for ${backend} in explain, in the trace and on the page, and never dialled`, async () => {
        fixture.route({ backend: { enabled: true, backend_id: backend } });
        const answer = await fixture.ask(protocol, { headers: { accept: "text/html" } });
        assert.equal(answer.status, 502);
        assert.match(answer.body.toString(), new RegExp(errorCode("upstream_forbidden")));
        assert.match(answer.body.toString(), /does not allow the address/);
        const told = await fixture.edge.question({ name: "request", accountId: "ac_1", id: answer.id });
        assert.ok(told.name === "requests");
        const [trace] = told.requests;
        assert.equal(trace?.errorCode, errorCode("upstream_forbidden"));
        assert.ok(trace.steps.some(({ by, reason }) => by === "backend" && reason === `not allowed here: ${loopback}`));
        const { status, errorCode: code, outcome, steps, address } = await explained();
        assert.deepEqual([status, code, outcome, address], [502, errorCode("upstream_forbidden"), "failed", undefined]);
        assert.deepEqual(steps, trace.steps);
        assert.equal(connections, 0);
      });
    }

    it(`I7: a static backend at an address that is not allowed, over ${protocol}, is passed over for the next member of a failover backend`, async () => {
      fixture.route({ backend: { enabled: true, backend_id: "bkdfo_tunnel" } });
      const answer = await fixture.ask(protocol);
      assert.equal(answer.status, 200);
      const told = await fixture.edge.question({ name: "request", accountId: "ac_1", id: answer.id });
      const { outcome, steps } = await explained();
      assert.equal(outcome, "forwarded");
      assert.deepEqual(steps, told.name === "requests" ? told.requests[0]?.steps : undefined);
      assert.equal(connections, 0);
    });
  });
}

it("I7: an explained connection also reports a forbidden address", async () => {
  const backend = { enabled: true, backend_id: "bkdsc_name" };
  fixture.put("tls_edge", "edgtls_1", { hostports: ["db.example.com:443"], backend });
  const asked = { kind: "tls_edge", siteId: "edgtls_1", source: "127.0.0.1" } as const;
  const told = await fixture.edge.question({ name: "explain_connection", accountId: "ac_1", ...asked });
  assert.ok(told.name === "explanation");
  assert.equal(told.explanation.errorCode, errorCode("upstream_forbidden"));
  assert.ok(told.explanation.steps.some(({ reason }) => reason.startsWith("not allowed here: ")));
});
