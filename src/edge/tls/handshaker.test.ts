import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { after, describe, it } from "node:test";
import { createSelfSigned } from "../../lib/x509.ts";
import { makeHandshaker, tlsStrength } from "./handshaker.ts";

const shown = await createSelfSigned({ names: ["shop.example.com"], now: Date.now(), days: 1 });

describe("a handshaker", async () => {
  const handshaker = makeHandshaker(createServer({ ...tlsStrength, cert: shown.certificatePem, key: shown.keyPem }));
  const listener = createTcpServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  after(() => listener.close());
  const { port } = listener.address() as AddressInfo;
  const options = { host: "127.0.0.1", port, servername: "shop.example.com", rejectUnauthorized: false };

  /** Both ends of a connection whose handshake has ended, and the socket below the server's. */
  async function shaken(): Promise<{ client: TLSSocket; plain: Socket; secure: TLSSocket }> {
    const accepted = once(listener, "connection") as Promise<[Socket]>;
    const client = connect(options);
    const [plain] = await accepted;
    const result = await new Promise<TLSSocket | Error>((resolve) => handshaker.accept(plain, resolve));
    assert.ok(!(result instanceof Error));
    return { client, plain, secure: result };
  }

  it("a handshaker leaves nothing that listens on a connection that has closed, and has told all of its close before", async () => {
    const { client, plain, secure } = await shaken();
    const told: string[] = [];
    plain.on("close", () => told.push("plain"));
    secure.on("close", () => told.push("secure"));
    secure.on("data", () => told.push("data"));
    secure.once("end", () => secure.end());
    const closed = Promise.all([once(plain, "close"), once(secure, "close")]);
    client.end("bye");
    await closed;
    assert.deepEqual(told.sort(), ["data", "plain", "secure"]);
    for (const socket of [plain, secure]) {
      assert.deepEqual(socket.eventNames(), ["error"]);
      socket.emit("error", new Error("of a connection that has closed"));
    }
  });

  it("a handshaker tells of a connection that closes before its handshake has ended", async () => {
    const accepted = once(listener, "connection") as Promise<[Socket]>;
    const client = connect(options);
    client.on("error", () => undefined);
    const [plain] = await accepted;
    const result = new Promise<TLSSocket | Error>((resolve) => handshaker.accept(plain, resolve));
    client.destroy();
    plain.destroy();
    const ended = await result;
    assert.ok(ended instanceof Error);
    assert.match(ended.message, /the TLS handshake failed/);
  });
});
