import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
before(async () => (fixture = await startEdgeWithAgent({ allowLocalUpstreams: true })));
after(() => fixture.stop());

const breaker = {
  enabled: true,
  tripped_duration: 10,
  rolling_window: 10,
  num_buckets: 5,
  volume_threshold: 4,
  error_threshold_percentage: 0.5,
};
const open = errorCode("circuit_open");

function answering(status: number): void {
  fixture.answer((_request, response) => {
    response.writeHead(status);
    response.end();
  });
}

function codeOf({ headers }: Asked): unknown {
  return headers["postern-error-code"];
}

for (const protocol of protocols) {
  describe(`the circuit breaker over ${protocol}`, () => {
    const ask = (path = "/") => fixture.ask(protocol, { path });
    /** The breaker's state belongs to the route, so each test has its own route. */
    const own = (id: string, more: object = {}) => {
      const path = `/${protocol}-${id}`;
      fixture.put("https_edge_route", `edghtsrt_${protocol}_${id}`, {
        edge_id: "edghts_1",
        match_type: "path_prefix",
        match: path,
        backend: { enabled: true, backend_id: "bkdtg_1" },
        circuit_breaker: breaker,
        ...more,
      });
      return path;
    };
    const trip = async (path: string): Promise<void> => {
      answering(500);
      for (let count = 0; count < 4; count += 1) assert.equal((await ask(path)).status, 500);
    };

    it(`D5: the circuit breaker over ${protocol} trips at its volume and share, and sends nothing on while it is open`, async () => {
      const path = own("trips");
      answering(200);
      await ask(path);
      await ask(path);
      answering(503);
      assert.equal(codeOf(await ask(path)), undefined);
      assert.equal(codeOf(await ask(path)), undefined);
      const reached = fixture.received.length;
      const refused = await ask(path);
      assert.deepEqual([refused.status, codeOf(refused)], [503, open]);
      assert.equal(fixture.received.length, reached);
    });

    it(`D5: the circuit breaker over ${protocol} does not trip below the volume, below the share, or through failures outside of the window`, async () => {
      const path = own("holds");
      answering(500);
      for (let count = 0; count < 3; count += 1) await ask(path);
      fixture.clock.move(11_000);
      await ask(path);
      answering(404);
      for (let count = 0; count < 10; count += 1) assert.equal((await ask(path)).status, 404);
    });

    it(`D5: the circuit breaker over ${protocol} admits one probe after its open time, and closes or reopens with the result`, async () => {
      const path = own("recovers");
      await trip(path);
      fixture.clock.move(9000);
      assert.equal(codeOf(await ask(path)), open);
      fixture.clock.move(1000);
      assert.equal((await ask(path)).status, 500);
      assert.equal(codeOf(await ask(path)), open);
      fixture.clock.move(10_000);
      const release = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      fixture.answer((_request, response) => {
        arrived.resolve();
        void release.promise.then(() => response.end());
      });
      const probe = ask(path);
      await arrived.promise;
      assert.equal(codeOf(await ask(path)), open);
      release.resolve();
      assert.equal((await probe).status, 200);
      answering(200);
      assert.equal((await ask(path)).status, 200);
    });

    it(`D5: the circuit breaker over ${protocol} counts connections that fail`, async () => {
      const dead = createServer().listen(0, "127.0.0.1");
      await once(dead, "listening");
      const { port } = dead.address() as AddressInfo;
      dead.close();
      await once(dead, "close");
      const agent = await connectAgent(fixture.edge, fixture.token, port);
      await agent.label({ app: "dead" });
      fixture.put("tunnel_group_backend", "bkdtg_dead", { labels: { app: "dead" } });
      fixture.put("static_backend", "bkdsc_dead", { address: `127.0.0.1:${port}`, tls: { enabled: false } });
      for (const backend_id of ["bkdtg_dead", "bkdsc_dead"]) {
        const path = own(backend_id, { backend: { enabled: true, backend_id } });
        for (let count = 0; count < 4; count += 1) assert.equal((await ask(path)).status, 502, backend_id);
        assert.equal(codeOf(await ask(path)), open);
      }
      agent.close();
    });

    it(`D5: the circuit breaker over ${protocol} is the route's own, and no other route is slower or closed for it`, async () => {
      const path = own("dead");
      const beside = own("beside");
      await trip(path);
      answering(200);
      assert.equal(codeOf(await ask(path)), open);
      for (let count = 0; count < 8; count += 1) assert.equal((await ask(beside)).status, 200);
    });

    it(`D5: the circuit breaker over ${protocol} stays open through changes that are not about it`, async () => {
      const path = own("stays");
      await trip(path);
      own("stays", { response_headers: { enabled: true, remove: [], add: { "x-new": "1" } } });
      fixture.put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } });
      fixture.put("https_edge", "edghts_1", { hostports: ["app.example.com:443", "other.example.com:443"] });
      assert.equal(codeOf(await ask(path)), open);
      own("stays", { circuit_breaker: { ...breaker, enabled: false } });
      answering(200);
      assert.equal((await ask(path)).status, 200);
    });

    it(`the circuit breaker over ${protocol} counts a fixed answer as an answer`, async () => {
      fixture.put("http_response_backend", "bkdhr_1", { status_code: 200, headers: {}, body: "fixed" });
      const path = own("fixed", { backend: { enabled: true, backend_id: "bkdhr_1" } });
      for (let count = 0; count < 8; count += 1) assert.equal((await ask(path)).status, 200);
    });
  });
}
