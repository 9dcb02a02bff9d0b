/** Requests that an agent reports as not begun: another agent gets them, whatever their method. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { text as readText } from "node:stream/consumers";
import { connectAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { connectRaw, fin, frame, question, word } from "../support/raw-agent.ts";
import type { RawAgent } from "../support/raw-agent.ts";
import { startHttpService } from "../support/services.ts";
import { peerWays, startTwoEdges } from "../support/two-edges.ts";

const host = "shop.example.com";
const credential = newCredential();
const labels = { app: "shop" };
const startLabelled = 7;
const codes = { streamRefused: 5, streamCancelled: 6, acceptQueueFull: 9 } as const;

let edge: TestEdge;
const stops: (() => unknown)[] = [];
before(async () => {
  edge = await startTestEdge([credential.object, ...httpsEdge("shop", [host])], { drainMs: 100, random: () => 0 });
});
after(() => edge.edge.stop());
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** How the first agent ends the stream of a request that it has received. */
type End = (agent: RawAgent, streamId: number) => void;

const leaves =
  (lastId: (streamId: number) => number): End =>
  (agent, streamId) =>
    agent.write(frame(3, 0, 0, Buffer.concat([word(lastId(streamId)), word(0)])));
const resets =
  (code: number): End =>
  (agent, streamId) =>
    agent.write(frame(0, 0, streamId, word(code)));

/**
 * Starts an agent that receives the first request whole and ends its stream, and a second one with a service.
 * @returns the bodies that the service received
 */
async function agents(end: End, isOurs = true, wholeBytes = 0, at = edge): Promise<string[]> {
  const first = await connectRaw(at.edge.agent);
  stops.push(() => first.socket.destroy());
  await first.authenticate({}, { AuthToken: credential.token, ...(isOurs && { MuxWindow: 1_000_000 }) });
  first.write(question(5, startLabelled, { Labels: labels, ForwardsTo: "", Metadata: "" }), frame(1, fin, 5, ""));
  assert.equal((await first.answer(5))["Error"], "");
  const proxied = (): number | undefined =>
    first.frames.find(({ streamId }) => {
      const text = streamId % 2 === 0 ? first.payload(streamId) : "";
      return text.includes("\r\n\r\n") && text.length >= wholeBytes;
    })?.streamId;
  const bodies: string[] = [];
  const service = await startHttpService((asked, response) => {
    void readText(asked).then((body) => {
      bodies.push(body);
      response.end("served");
    });
  });
  const second = await connectAgent(at, credential.token, service.port);
  // The request arrives while the first agent is the only one.
  void first
    .until(() => proxied() !== undefined)
    .then(() => second.label(labels))
    .then(() => end(first, proxied() as number));
  stops.push(
    () => service.stop(),
    () => second.close(),
  );
  return bodies;
}

for (const protocol of protocols) {
  describe(`a request over ${protocol} that its agent has not begun`, { timeout: 60_000 }, () => {
    for (const [what, end] of [
      ["leaves, with a lower last stream id", leaves((streamId) => streamId - 2)],
      ["refuses the stream", resets(codes.streamRefused)],
      ["has too many streams", resets(codes.acceptQueueFull)],
    ] as const) {
      for (const [method, body] of [
        ["GET", ""],
        ["POST", ""],
        ["POST", "whole"],
        ["PATCH", "x".repeat(16_000)],
      ] as const) {
        it(`S5: a request over ${protocol} that its agent has not begun, a ${method} with ${body.length} bytes, goes to another agent if the first one ${what}`, async () => {
          const bodies = await agents(end);
          const asked = await edge.ask(protocol, { host, method, ...(body !== "" && { body }) });
          assert.deepEqual([asked.status, asked.text, bodies.length], [200, "served", 1]);
          assert.ok(bodies[0] === body);
        });
      }
    }

    for (const [what, end, isOurs] of [
      ["may have begun it before it leaves", leaves((streamId) => streamId), true],
      ["resets it for another reason", resets(codes.streamCancelled), true],
      ["is an SDK, which reports last stream ids without meaning", leaves(() => 0), false],
    ] as const) {
      it(`G5: a POST over ${protocol} is not sent twice if its agent ${what}`, async () => {
        const bodies = await agents(end, isOurs);
        const asked = await edge.ask(protocol, { host, method: "POST", body: "once" });
        assert.deepEqual([asked.status, bodies], [502, []]);
      });
    }

    it(`G5: a POST over ${protocol} is not sent twice if the edge has released a part of its body, and gets 503`, async () => {
      const body = "x".repeat(100_000);
      const bodies = await agents(
        leaves((streamId) => streamId - 2),
        true,
        body.length,
      );
      const asked = await edge.ask(protocol, { host, method: "POST", body });
      assert.deepEqual([asked.status, bodies.length], [503, 0]);
    });
  });
}

for (const way of peerWays) {
  describe(`a request that an agent at another edge has not begun, over ${way}`, { timeout: 60_000 }, () => {
    for (const method of ["GET", "POST"] as const) {
      it(`S5: a ${method} request that an agent at another edge has not begun, over ${way}, goes to another agent`, async () => {
        const both = await startTwoEdges([credential.object, ...httpsEdge("shop", [host])], { drainMs: 100 }, way);
        stops.push(() => both.stop());
        const [here, there] = both.edges;
        const bodies = await agents(
          leaves((streamId) => streamId - 2),
          true,
          0,
          there,
        );
        const body = method === "POST" ? "whole" : "";
        const asked = await here.ask("h1", { host, method, ...(body !== "" && { body }) });
        assert.deepEqual([asked.status, asked.text, bodies], [200, "served", [body]]);
      });
    }
  });
}
