/** Requests whose upstream is lost before it answers: which are sent once more, where to, and which never are. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import type { Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { movableClock } from "../support/clock.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";

const host = "shop.example.com";
const answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved";
const credential = newCredential();
const other = newCredential("cr_2");
const metrics = makeMetrics();
const clock = movableClock();

let edge: TestEdge;
const stops: (() => unknown)[] = [];
before(async () => {
  edge = await startTestEdge([credential.object, other.object, ...httpsEdge("shop", [host])], {
    metrics,
    clock,
    drainMs: 100,
    random: () => 0,
    limits: { agents: { finishMs: 5_000 } },
  });
});
after(() => edge.edge.stop());
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** How members react to the first bytes of each connection; the last entry repeats. */
type Fate = (member: Member, text: string) => void;

interface Member {
  readonly agent: TestAgent;
  /** Of its tunnel. */
  readonly id: string;
  reply(text: string): void;
  /** Cuts the connection off. */
  drop(): void;
}

type Publish = (agent: TestAgent, index: number) => Promise<string>;

const serves: Fate = (member) => member.reply(answer);
const loses: Fate = (member) => member.drop();
const label: Publish = (agent) => agent.label({ app: "shop" });
const leaves: Fate = (member) => member.agent.close();
/** Open requests then get some time to finish. */
const withdraws: Fate = (member) => void member.agent.session.unbind(member.id).then(() => clock.move(6_000));

/** Agents whose services apply `fates` to requests, in the order of arrival at any of them. */
async function members(
  count: number,
  fates: readonly Fate[],
  publish: Publish = label,
): Promise<{ readonly seen: string[]; readonly connections: Socket[] }> {
  const seen: string[] = [];
  const connections: Socket[] = [];
  for (let index = 0; index < count; index += 1) {
    const service = await startTcpService((socket) => {
      connections.push(socket);
      socket.on("data", (bytes) => {
        const text = bytes.toString("latin1");
        seen.push(text);
        const fate = fates[Math.min(seen.length, fates.length) - 1] as Fate;
        fate({ agent, id, reply: (told) => socket.write(told, "latin1"), drop: () => socket.destroy() }, text);
      });
    });
    const agent = await connectAgent(edge, credential.token, service.port);
    const id = await publish(agent, index);
    stops.push(
      () => service.stop(),
      () => agent.close(),
    );
  }
  return { seen, connections };
}

function repeated(): number {
  return Number(/^postern_http_repeated_total (\d+)$/m.exec(metrics.render())?.[1]);
}

async function stepsOf({ id }: Asked): Promise<string[]> {
  const told = await edge.question({ name: "request", accountId: "ac_1", id });
  const trace = told.name === "requests" ? told.requests[0] : undefined;
  return (trace?.steps ?? []).filter(({ by }) => by === "backend").map(({ reason }) => reason);
}

function isRefused(asked: Asked): void {
  assert.equal(asked.status, 502);
  assert.ok(asked.text.includes(errorCode("upstream_refused")));
}

for (const protocol of protocols) {
  describe(`a request over ${protocol} whose upstream is lost`, { timeout: 60_000 }, () => {
    for (const [how, fate] of [
      ["cuts it off", loses],
      ["has left with its session", leaves],
      ["has taken its tunnel away", withdraws],
    ] as const) {
      it(`a request over ${protocol} whose agent ${how} before it answered is sent once more, to another, and its trace names both`, async () => {
        const { seen } = await members(2, [fate, serves]);
        const before = repeated();
        const asked = await edge.ask(protocol, { host });
        assert.deepEqual([asked.status, asked.text, seen.length], [200, "served", 2]);
        assert.equal(repeated(), before + 1);
        const steps = await stepsOf(asked);
        assert.match(
          steps.join("\n"),
          /^sent through tunnel (tn_\w+) .*\nconnection lost before the response .*GET.*\nsent through tunnel (?!\1)tn_/,
        );
      });
    }

    for (const method of ["HEAD", "OPTIONS", "PUT", "DELETE"]) {
      it(`G5: a request over ${protocol} of the method ${method}, which may be repeated, is`, async () => {
        const { seen } = await members(2, [loses, (member) => member.reply("HTTP/1.1 204 No Content\r\n\r\n")]);
        const asked = await edge.ask(protocol, { host, method });
        assert.deepEqual([asked.status, seen.length], [204, 2]);
      });
    }

    for (const method of ["POST", "PATCH"]) {
      it(`G5: a request over ${protocol} of the method ${method} is never sent twice`, async () => {
        const { seen } = await members(2, [loses, serves]);
        isRefused(await edge.ask(protocol, { host, method }));
        assert.equal(seen.length, 1);
      });
    }

    it(`G5: a request over ${protocol} whose body has begun to be sent on is never sent twice`, async () => {
      const { seen } = await members(2, [loses, serves]);
      isRefused(await edge.ask(protocol, { host, method: "PUT", body: "begun" }));
      assert.equal(seen.length, 1);
    });

    it(`G5: a request over ${protocol} to which an answer has begun is never sent twice`, async () => {
      const begins: Fate = (member) => {
        member.reply("HTTP/1.1 103 Early Hints\r\n\r\n");
        setImmediate(() => member.drop());
      };
      const { seen } = await members(2, [begins, serves]);
      isRefused(await edge.ask(protocol, { host }));
      assert.equal(seen.length, 1);
    });

    for (const [what, asked] of [
      ["a POST", { method: "POST" }],
      ["a PUT with a body", { method: "PUT", body: "whole" }],
    ] as const) {
      it(`G5: a request over ${protocol} that may not be repeated, ${what}, gets no stream that its service may be closing`, async () => {
        const { seen, connections } = await members(1, [serves]);
        const served = async (init: Partial<typeof asked>): Promise<number> => {
          assert.equal((await edge.ask(protocol, { host, ...init })).status, 200);
          return connections.length;
        };
        assert.equal(await served(asked), 1);
        assert.equal(await served(asked), 1);
        clock.move(2_000);
        // Requests on a connection that was idle this long are lost.
        connections[0]?.removeAllListeners("data").once("data", () => connections[0]?.destroy());
        assert.equal(await served(asked), 2);
        clock.move(2_000);
        assert.equal(await served({}), 2);
        assert.equal(seen.length, 4);
      });
    }

    it(`a request over ${protocol} that is lost twice is refused, and sent to no other`, async () => {
      const before = repeated();
      const { seen } = await members(3, [loses, loses, serves]);
      isRefused(await edge.ask(protocol, { host }));
      assert.equal(seen.length, 2);
      assert.equal(repeated(), before + 1);
    });

    it(`a request over ${protocol} without another destination is refused`, async () => {
      const before = repeated();
      const { seen } = await members(1, [loses, serves]);
      isRefused(await edge.ask(protocol, { host }));
      assert.equal(seen.length, 1);
      assert.equal(repeated(), before);
    });

    it(`a request over ${protocol} that is not answered in time is not sent twice`, async () => {
      const { seen } = await members(2, [() => clock.move(301_000), serves]);
      const { status } = await edge.ask(protocol, { host });
      assert.deepEqual([status, seen.length], [504, 1]);
    });

    it(`a request over ${protocol} to one of several endpoints of a URL is sent once more to another that does the same`, async () => {
      const pooled = "pool.example.com";
      // The name of the URL makes no difference.
      const places = [{ hostname: pooled }, { options: { Domain: pooled } }];
      const bind: Publish = async (agent, index) => (await agent.bind({ ...places[index], pooling: true })).id;
      const { seen } = await members(2, [loses, serves], bind);
      const asked = await edge.ask(protocol, { host: pooled });
      assert.deepEqual([asked.status, seen.length], [200, 2]);
    });

    it(`a request over ${protocol} to one of several endpoints of a URL is not sent to another with other rules`, async () => {
      const pooled = "pool.example.com";
      const trafficPolicy = JSON.stringify({ on_http_request: [{ actions: [{ type: "deny" }] }] });
      const bind: Publish = async (agent, index) =>
        (await agent.bind({ hostname: pooled, pooling: true, ...(index === 1 && { trafficPolicy }) })).id;
      const { seen } = await members(2, [loses, serves], bind);
      isRefused(await edge.ask(protocol, { host: pooled }));
      assert.equal(seen.length, 1);
    });
  });
}

describe("a WebSocket whose upstream is lost", { timeout: 60_000 }, () => {
  it("G5: a WebSocket whose upstream is lost before it answered is never requested twice", async () => {
    const { seen } = await members(2, [loses, serves]);
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    isRefused(await edge.ask("h1", { host, headers }));
    assert.equal(seen.length, 1);
  });
});

describe("a request whose body has not arrived yet", { timeout: 60_000 }, () => {
  it("a request whose body has not arrived yet is sent once more, completely", async () => {
    const { seen } = await members(2, [loses, () => {}, serves]);
    const socket = await edge.connect("h2", { host });
    const session = connect(`https://${host}`, { createConnection: () => socket });
    const stream = session.request({ ":method": "PUT", "content-length": "5" }, { endStream: false });
    stops.push(() => session.destroy());
    const answered = once(stream, "response");
    while (seen.length < 2) await new Promise(setImmediate);
    stream.end("whole");
    const [head] = await answered;
    assert.equal(head[":status"], 200);
    assert.match(seen.slice(1).join(""), /^PUT .*\r\n\r\nwhole$/s);
  });
});
