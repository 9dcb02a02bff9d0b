import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { describe, it } from "node:test";
import { captureHello } from "../../../test/support/client-hello.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { createSelfSigned } from "../../lib/certificates/x509.ts";
import { makeTicketSecret } from "./ticket-secret.ts";
import { makeTlsEnd } from "./tls-end.ts";

describe("TLS that a policy ends", () => {
  it("D2: TLS that a policy ends times out during the handshake", async () => {
    const clock = makeManualClock();
    const shown = await createSelfSigned({ names: ["shop.example.com"], now: clock.now(), days: 1 });
    const end = makeTlsEnd({
      certificates: { choose: () => undefined },
      tickets: makeTicketSecret(clock),
      clock,
      limits: { contexts: 10, handshakeTimeoutMs: 1000 },
    });
    const listener = createServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const accepted = once(listener, "connection") as Promise<[Socket]>;
    const client = connect((listener.address() as AddressInfo).port, "127.0.0.1");
    const [socket] = await accepted;
    client.write(await captureHello({ servername: "shop.example.com" }));
    const result = end.accept(
      socket,
      { id: "edgtls_shop", accountId: "ac_1", hosts: ["shop.example.com"] },
      { serverName: "shop.example.com", alpn: [] },
      {},
      { id: "own", ...shown, notAfter: clock.now() + 86_400_000 },
    );
    await once(client, "data");
    clock.pass(999);
    assert.equal(socket.destroyed, false);
    clock.pass(1);
    const ended = await result;
    assert.ok(ended instanceof Error);
    assert.match(ended.message, /took too long/);
    assert.equal(socket.destroyed, true);
    client.destroy();
    listener.close();
  });
});
