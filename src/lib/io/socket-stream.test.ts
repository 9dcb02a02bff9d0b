import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { it } from "node:test";
import { connect as connectTls, TLSSocket } from "node:tls";
import type { ByteReceiver } from "./byte-stream.ts";
import { socketStream } from "./socket-stream.ts";
import { createSelfSigned } from "../certificates/x509.ts";

it("a stream whose TLS breaks is closed with the error immediately", async () => {
  const own = await createSelfSigned({ names: ["service.example.com"], now: Date.now(), days: 1 });
  const server = createServer((socket) => {
    socket.on("error", () => {});
    new TLSSocket(socket, { isServer: true, cert: own.certificatePem, key: own.keyPem }).on("error", () => {}).resume();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const bare = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  const secure = connectTls({ socket: bare, ca: own.certificatePem, servername: "service.example.com" });
  await once(secure, "secureConnect");
  const closed = Promise.withResolvers<Error | undefined>();
  const receiver: ByteReceiver = { data() {}, ended() {}, drained() {}, closed: (error) => closed.resolve(error) };
  socketStream(secure, receiver);
  (await accepted)[0].write("nothing that TLS would say");
  assert.match(String((await closed.promise)?.message), /wrong version number|record|message/i);
  (await accepted)[0].destroy();
  server.close();
});
