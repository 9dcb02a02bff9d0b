/** The time limit for the first byte of a response: the server's setting, a route's, and a tunnel's. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { eventually } from "../support/eventually.ts";
import { withFront } from "../support/front.ts";
import { protocols } from "../support/http-client.ts";

it("a service that answers after almost five minutes is awaited, and a slower one causes 504 with the number", async () => {
  await withFront(
    () => {},
    {},
    async (front, client) => {
      client.send("GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
      await eventually(
        () => front.upstream.connections[0]?.seen ?? "",
        (seen) => seen !== "",
      );
      front.clock.pass(299_000);
      assert.equal(client.received, "");
      front.clock.pass(2_000);
      const answer = await client.until(errorCode("upstream_timeout"));
      assert.match(answer, /^HTTP\/1\.1 504 /);
      assert.match(await client.until("request_id"), /did not begin its response within 300 s/);
    },
  );
});

describe("the time for a response", () => {
  let fixture: EdgeWithAgent;
  before(async () => (fixture = await startEdgeWithAgent({ responseTimeout: 2_000 })));
  after(() => fixture.stop());
  const forwarding = (seconds: number) => ({
    forwarding: { enabled: true, response_timeout: seconds, encoded_slashes: false },
  });

  for (const protocol of protocols) {
    /** The service answers `passedMs` after the request; earlier deadlines expire first. */
    const afterMs = async (passedMs: number, host?: string): Promise<{ status: number; text: string }> => {
      const reached = Promise.withResolvers<ServerResponse>();
      fixture.answer((_request, response) => reached.resolve(response));
      const asked = fixture.ask(protocol, {
        headers: { accept: "application/json" },
        ...(host !== undefined && { host }),
      });
      const response = await reached.promise;
      fixture.clock.move(passedMs);
      response.end("late");
      return await asked;
    };

    it(`the time for a response over ${protocol} is the server's setting`, async () => {
      fixture.route({});
      const { status, text } = await afterMs(3_000);
      assert.equal(status, 504);
      assert.match(text, /within 2 s/);
    });

    it(`the time for a response over ${protocol} is the route's, longer or shorter`, async () => {
      fixture.route(forwarding(8));
      assert.deepEqual((await afterMs(4_000)).text, "late");
      fixture.route(forwarding(1));
      const { status, text } = await afterMs(2_000);
      assert.equal(status, 504);
      assert.match(text, /within 1 s/);
      fixture.route({});
    });

    it(`the time for a response over ${protocol} is the tunnel's`, async () => {
      const host = "slow.apps.example.com";
      const { id } = await fixture.agent.bind({
        hostname: host,
        options: { Forwarding: { response_timeout: 8, encoded_slashes: false } },
      });
      assert.deepEqual((await afterMs(4_000, host)).text, "late");
      await fixture.agent.session.unbind(id);
    });
  }
});
