/** Bodies buffered for verification: the total size at one time. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { signSample } from "../../src/webhooks/webhook-verification.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { eventually } from "../support/front.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";

const metrics = makeMetrics();
const body = "a".repeat(5000);
let fixture: EdgeWithAgent;

before(async () => {
  fixture = await startEdgeWithAgent({ metrics, limits: { http: { maxHeldBytes: 21_000 } } });
  fixture.route({ webhook_verification: { enabled: true, provider: "github", secret: "s" } });
});
after(() => fixture.stop());

const heldBytes = (): number => Number(/^postern_http_held_bytes (\d+)$/m.exec(metrics.render())?.[1]);
const signed = (): Readonly<Record<string, string>> =>
  signSample("github", { secret: "s", body: Buffer.from(body), url: `https://${host}/`, now: fixture.clock.now() })
    .headers;

interface Started {
  send(text: string): void;
  /** Sends the rest. */
  end(text: string): void;
  readonly status: Promise<number>;
  destroy(): void;
}

/** A request whose body is sent piece by piece. */
async function start(protocol: Protocol): Promise<Started> {
  const socket: TLSSocket = await fixture.connect(protocol);
  socket.on("error", () => {});
  const fields = { ...signed(), "content-length": String(body.length) };
  if (protocol === "h2") {
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    const stream = session.request({ ":method": "POST", ":path": "/", ":authority": host, ...fields });
    stream.on("error", () => {});
    const status = once(stream, "response").then(([head]) => Number((head as Record<string, unknown>)[":status"]));
    return {
      send: (text) => void stream.write(text),
      end: (text) => void stream.end(text),
      status,
      destroy: () => session.destroy(),
    };
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\n${lines.join("")}\r\n`);
  const status = once(socket, "data").then(([bytes]) => Number(String(bytes).slice(9, 12)));
  const send = (text: string): void => void socket.write(text);
  return { send, end: send, status, destroy: () => socket.destroy() };
}

for (const protocol of protocols) {
  describe(`bodies held over ${protocol}`, () => {
    it(`D9: bodies buffered over ${protocol} have a total limit: a body beyond it gets 503, and the others continue`, async () => {
      const reached = fixture.received.length;
      const [one, two, three] = await Promise.all([start(protocol), start(protocol), start(protocol)]);
      one.send(body.slice(0, 4000));
      two.send(body.slice(0, 4000));
      await eventually(() => heldBytes() === 8000);
      three.send(body.slice(0, 4000));
      assert.equal(await three.status, 503);
      await eventually(() => heldBytes() === 8000);
      for (const whole of [one, two]) {
        whole.end(body.slice(4000));
        assert.equal(await whole.status, 200);
      }
      await eventually(() => heldBytes() === 0);
      assert.equal(fixture.received.length, reached + 2);
      for (const started of [one, two, three]) started.destroy();
    });

    it(`bodies held over ${protocol} are forgotten when their client goes away, or their signature does not hold`, async () => {
      const gone = await start(protocol);
      gone.send(body.slice(0, 4000));
      await eventually(() => heldBytes() === 4000);
      gone.destroy();
      await eventually(() => heldBytes() === 0);
      const answer = await fixture.ask(protocol, { method: "POST", headers: signed(), body: `${body} ` });
      assert.equal(answer.status, 403);
      await eventually(() => heldBytes() === 0);
    });
  });
}
