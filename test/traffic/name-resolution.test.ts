/** Backends and other addresses with host names, while a name server does not answer for some of them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startDns } from "../support/dns.ts";
import type { TestDns } from "../support/dns.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";
import { openOutbound } from "../../src/outbound/outbound.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startHttpService } from "../support/services.ts";

let dns: TestDns;
let fixture: EdgeWithAgent;
before(async () => {
  dns = await startDns();
  fixture = await startEdgeWithAgent({ allowLocalUpstreams: true, nameServer: [dns.address] });
});
after(async () => {
  await fixture.stop();
  await dns.stop();
});

function backend(id: string, address: string): void {
  fixture.put("static_backend", id, { address, tls: { enabled: false } });
}

for (const protocol of protocols) {
  describe(`a backend whose name gets no answer, over ${protocol}`, () => {
    it(`D5: a backend whose name gets no answer, over ${protocol}, does not affect other backends and requests of the server`, async () => {
      const silent: Promise<Asked>[] = [];
      let answered = 0;
      const names = Array.from({ length: 4 }, (_, index) => `${protocol}-${index}.silent.test`);
      for (const [index, name] of names.entries()) {
        backend(`bkdsc_${index}`, `${name}:80`);
        fixture.route({ backend: { enabled: true, backend_id: `bkdsc_${index}` } });
        for (const request of [fixture.ask(protocol), fixture.ask(protocol)]) {
          silent.push(request);
          void request.finally(() => (answered += 1));
        }
        await eventually(
          () => dns.queries.includes(name),
          (isAsked) => isAsked,
        );
      }
      const name = `${protocol}.fine.test`;
      backend("bkdsc_fine", `${name}:${fixture.servicePort}`);
      fixture.route({ backend: { enabled: true, backend_id: "bkdsc_fine" } });
      for (let count = 0; count < 5; count += 1) assert.equal((await fixture.ask(protocol)).status, 200);
      const service = await startHttpService((_request, response) => response.end("yes"));
      const outbound = openOutbound({ purpose: "events", clock: systemClock, reach: "any" });
      const { text } = await outbound.send({ method: "GET", url: new URL(`http://outbound.test:${service.port}/`) });
      outbound.close();
      await service.stop();
      assert.equal(text, "yes");
      // All of that while the unanswered queries are pending.
      assert.equal(answered, 0);
      assert.equal(dns.queries.filter((one) => one === name).length, 1);
      for (const { status } of await Promise.all(silent)) assert.equal(status, 502);
    });
  });
}
