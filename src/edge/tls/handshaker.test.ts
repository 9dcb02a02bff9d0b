import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { connect, createSecureContext, createServer } from "node:tls";
import type { ConnectionOptions, SecureContext, TLSSocket } from "node:tls";
import { after, describe, it } from "node:test";
import { authorityConstraints, dnsNames, oddCertificate } from "../../../test/support/odd-certificates.ts";
import { createSelfSigned } from "../../lib/certificates/x509.ts";
import { makeHandshaker, tlsStrength } from "./handshaker.ts";

const shown = await createSelfSigned({ names: ["shop.example.com"], now: Date.now(), days: 1 });

/** Key types of certificates that are in use or expected. The last one requires TLS 1.3. */
const keys = {
  "P-256": generateKeyPairSync("ec", { namedCurve: "P-256" }),
  "P-384": generateKeyPairSync("ec", { namedCurve: "P-384" }),
  "P-521": generateKeyPairSync("ec", { namedCurve: "P-521" }),
  RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  "RSASSA-PSS": generateKeyPairSync("rsa-pss", { modulusLength: 2048 }),
  Ed25519: generateKeyPairSync("ed25519"),
  Ed448: generateKeyPairSync("ed448"),
  "ML-DSA-65": generateKeyPairSync("ml-dsa-65"),
} as const;

describe("a handshaker", async () => {
  const handshaker = makeHandshaker(createServer({ ...tlsStrength, cert: shown.certificatePem, key: shown.keyPem }));
  const listener = createTcpServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  after(() => listener.close());
  const { port } = listener.address() as AddressInfo;
  const options = { host: "127.0.0.1", port, servername: "shop.example.com", rejectUnauthorized: false };

  /** Returns both ends of a connection after its handshake, and the socket below the server's end. */
  async function shaken(
    by = handshaker,
    more: ConnectionOptions = {},
  ): Promise<{ client: TLSSocket; plain: Socket; secure: TLSSocket }> {
    const accepted = once(listener, "connection") as Promise<[Socket]>;
    const client = connect({ ...options, ...more });
    client.on("error", () => undefined);
    const [plain] = await accepted;
    const result = await new Promise<TLSSocket | Error>((resolve) => by.accept(plain, resolve));
    assert.ok(!(result instanceof Error));
    return { client, plain, secure: result };
  }

  it("a handshaker leaves no listeners on a connection that has closed, and reports each close before", async () => {
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

  for (const [name, key] of Object.entries(keys)) {
    it(`a handshaker uses certificates with keys of ${name} and accepts those of clients`, async () => {
      const issuer = oddCertificate({ name: "Authority", extensions: [authorityConstraints()] });
      const { pem: cert, keyPem } = oddCertificate({ name, issuer, key, extensions: [dnsNames("shop.example.com")] });
      const demands = { requestCert: true, rejectUnauthorized: true, ca: issuer.pem };
      const own = makeHandshaker(createServer({ ...tlsStrength, ...demands, cert, key: keyPem }));
      for (const version of ["TLSv1.3", "TLSv1.2"] as const) {
        if (version === "TLSv1.2" && name.startsWith("ML-DSA")) continue;
        const verified = { ca: issuer.pem, rejectUnauthorized: true, maxVersion: version };
        const { client, secure } = await shaken(own, { ...verified, cert, key: keyPem });
        assert.equal(secure.getProtocol(), version);
        assert.equal(secure.authorized, true);
        client.destroy();
      }
    });
  }

  it("a handshaker reports the result of each concurrent connection separately", async () => {
    const begun = new Map<number | undefined, Promise<TLSSocket | Error>>();
    const accept = (plain: Socket): void => {
      begun.set(plain.remotePort, new Promise((resolve) => handshaker.accept(plain, resolve)));
    };
    listener.on("connection", accept);
    const clients = Array.from({ length: 20 }, () => connect(options));
    await Promise.all(clients.map((client) => once(client, "secureConnect")));
    listener.removeListener("connection", accept);
    for (const client of clients) {
      const secure = await begun.get(client.localPort);
      assert.ok(secure !== undefined && !(secure instanceof Error));
      assert.equal(secure.remotePort, client.localPort);
      client.destroy();
    }
  });

  it("a handshaker for several hosts shows each concurrent connection its own certificate", async () => {
    const shared = makeHandshaker(createServer(tlsStrength));
    const names = ["one.example.com", "two.example.com"];
    const contexts = await Promise.all(
      names.map(async (name) => {
        const { certificatePem: cert, keyPem: key } = await createSelfSigned({
          names: [name],
          now: Date.now(),
          days: 1,
        });
        return createSecureContext({ ...tlsStrength, cert, key });
      }),
    );
    let begun = 0;
    const accept = (plain: Socket): void => {
      begun += 1;
      shared.acceptWith(contexts[(plain.remotePort as number) % 2] as SecureContext, plain, () => undefined);
    };
    listener.on("connection", accept);
    const clients = Array.from({ length: 20 }, () => connect(options));
    await Promise.all(clients.map((client) => once(client, "secureConnect")));
    listener.removeListener("connection", accept);
    assert.equal(begun, clients.length);
    for (const client of clients) {
      const { subjectaltname } = client.getPeerCertificate();
      assert.equal(subjectaltname, `DNS:${names[(client.localPort as number) % 2]}`);
      client.destroy();
    }
  });

  it("a handshaker reports a connection that closes before the end of its handshake", async () => {
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
