/** Memory of bodies that arrive in the smallest pieces. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { startEdgeWithAgent, host } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { eventually } from "../support/front.ts";
import { collectGarbage } from "../support/garbage.ts";
import { protocols } from "../support/http-client.ts";

const metrics = makeMetrics();
const byteCount = 512 * 1024;
let fixture: EdgeWithAgent;

before(async () => {
  fixture = await startEdgeWithAgent({ metrics });
  fixture.route({ webhook_verification: { enabled: true, provider: "github", secret: "s" } });
});
after(() => fixture.stop());

const heldBytes = (): number => Number(/^postern_http_held_bytes (\d+)$/m.exec(metrics.render())?.[1]);
/** Of this thread, once it is collected. */
function memory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

for (const protocol of protocols) {
  describe(`a body over ${protocol}`, () => {
    it(`D3: a buffered body over ${protocol} costs memory by its bytes, even if each byte arrives in its own piece`, async () => {
      const socket = await fixture.connect(protocol);
      socket.on("error", () => {});
      // Signed wrongly: the body is read to its end before that is found.
      const fields = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
      const before = memory();
      if (protocol === "h2") {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        const stream = session.request({ ":method": "POST", ":path": "/", ":authority": host, ...fields });
        stream.on("error", () => {});
        const byte = Buffer.from("x");
        for (let sent = 0; sent < byteCount; sent += 1) {
          if (!stream.write(byte)) await once(stream, "drain");
        }
        await eventually(() => heldBytes() === byteCount);
        const taken = memory() - before;
        assert.ok(taken < 8 * byteCount, `${taken} bytes for ${byteCount}`);
        stream.end();
        const [head] = (await once(stream, "response")) as [Record<string, unknown>];
        assert.equal(head[":status"], 403);
        session.destroy();
        return;
      }
      const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\n${lines.join("")}Transfer-Encoding: chunked\r\n\r\n`);
      const chunks = Buffer.from("1\r\nx\r\n".repeat(1024));
      for (let sent = 0; sent < byteCount; sent += 1024) if (!socket.write(chunks)) await once(socket, "drain");
      await eventually(() => heldBytes() === byteCount);
      const taken = memory() - before;
      assert.ok(taken < 8 * byteCount, `${taken} bytes for ${byteCount}`);
      socket.write("0\r\n\r\n");
      assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 403 /);
      socket.destroy();
    });
  });
}
