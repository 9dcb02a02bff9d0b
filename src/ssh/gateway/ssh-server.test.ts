import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import type { ManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { seededRandom } from "../../../test/support/random.ts";
import { skipWithout } from "../../../test/support/programs.ts";
import { makeSshClients } from "../../../test/support/ssh-clients.ts";
import { systemClock } from "../../lib/clock.ts";
import type { ClientSession } from "../../tunnel/client-hooks.ts";
import { Refusal } from "../../lib/errors.ts";
import { silentLog } from "../../lib/log.ts";
import { readHostKey } from "../keys/host-key.ts";
import { encodeMessage, encodeString, encodeUint32 } from "../ssh-wire.ts";
import { defaultSshLimits } from "./ssh-connection.ts";
import { startSshServer } from "./ssh-server.ts";
import type { SshServer } from "./ssh-server.ts";

const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
const shared = {
  hostKey: readHostKey(pem),
  listen: { host: "127.0.0.1", port: 0 },
  log: silentLog,
  domain: "t.example.com",
  version: "SSH-2.0-Postern_test",
  limits: defaultSshLimits,
  readWords: () => ({ help: "" }),
  help: "",
  maxConnections: 20,
  maxPerAddress: 20,
};

describe("the SSH server with a logged-in client", { skip: skipWithout("ssh", "ssh-keygen") }, () => {
  it("H4: the server replaces keys while the client sends data", async () => {
    const link = { close() {}, bind: () => Promise.withResolvers().promise };
    const server = await startSshServer({
      ...shared,
      clock: systemClock,
      rekey: { bytes: 200_000, packets: 2 ** 30, afterMs: 60_000 },
      openLink: () => Promise.resolve(link as unknown as ClientSession),
    });
    const clients = makeSshClients();
    try {
      const client = clients.openssh(server.port, clients.makeKey("key"), "-v", "-R", "a:80:127.0.0.1:1", "127.0.0.1");
      const exchanges = (): number => client.stderr.match(/SSH2_MSG_NEWKEYS received/g)?.length ?? 0;
      await eventually(exchanges, (count) => count === 1);
      for (let round = 0; round < 20; round += 1) client.write("x".repeat(100_000));
      await eventually(exchanges, (count) => count > 3);
      await client.stop();
    } finally {
      await clients.stop();
      server.stop("the test has ended");
    }
  });
});

describe("the SSH server", () => {
  let clock: ManualClock;
  let server: SshServer;
  let links = 0;
  const open = new Set<Socket>();

  before(async () => {
    clock = makeManualClock();
    server = await startSshServer({
      ...shared,
      clock,
      rekey: undefined,
      openLink() {
        links += 1;
        return Promise.reject(new Refusal("ssh_key_unknown"));
      },
    });
  });
  after(() => {
    for (const socket of open) socket.destroy();
    server.stop("the test has ended");
  });

  const dial = async (): Promise<Socket> => {
    const socket = connect(server.port, "127.0.0.1");
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
    await once(socket, "connect");
    return socket;
  };
  const closed = async (socket: Socket): Promise<string> => {
    let text = "";
    socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
    if (!socket.destroyed) await once(socket, "close");
    return text;
  };
  /** A packet before the first key exchange. */
  const packet = (payload: Buffer): Buffer => {
    const padding = 8 - ((5 + payload.length) % 8) + 8;
    return Buffer.concat([
      encodeUint32(1 + payload.length + padding),
      Buffer.of(padding),
      payload,
      Buffer.alloc(padding),
    ]);
  };
  const offer = (exchange = "curve25519-sha256,kex-strict-c-v00@openssh.com"): Buffer =>
    encodeMessage(
      20,
      randomBytes(16),
      ...[exchange, "ssh-ed25519", "aes128-ctr", "aes128-ctr", "hmac-sha2-256", "hmac-sha2-256"].map((one) =>
        encodeString(one),
      ),
      ...["none", "none", "", ""].map((one) => encodeString(one)),
      Buffer.of(0),
      encodeUint32(0),
    );

  it("a client that is not an SSH client reads what the port expects", async () => {
    const socket = await dial();
    socket.end("GET / HTTP/1.1\r\n\r\n");
    assert.match(await closed(socket), /^SSH-2\.0-Postern_test\r\nThis port expects an SSH client\.\r\n$/);
  });

  it("H5: a connection without a login ends after 20 seconds, and so does one in the key exchange", async () => {
    const silent = await dial();
    const begun = await dial();
    begun.write(Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(offer())]));
    await once(begun, "data");
    clock.pass(19_000);
    assert.ok(!silent.destroyed && !begun.destroyed);
    const both = Promise.all([closed(silent), closed(begun)]);
    clock.pass(1_500);
    await both;
  });

  it("H5: one address has at most 16 connections without a login", async () => {
    const sockets = await Promise.all(Array.from({ length: 16 }, dial));
    await Promise.all(sockets.map((socket) => once(socket, "data")));
    const refused = await dial();
    assert.equal(await closed(refused), "");
    for (const socket of sockets) socket.destroy();
    // The server sees the ends some time later.
    await eventually(
      async () => {
        const socket = await dial();
        const isServed = await Promise.race([once(socket, "data").then(() => true), closed(socket).then(() => false)]);
        socket.destroy();
        return isServed;
      },
      (isServed) => isServed,
    );
  });

  const faults: readonly (readonly [string, () => Buffer])[] = [
    ["an identification that is too long", () => Buffer.from(`SSH-2.0-${"x".repeat(300)}`)],
    ["version 1", () => Buffer.from("SSH-1.5-x\r\n")],
    ["a packet that is too long", () => Buffer.from("SSH-2.0-x\r\n\x7f\xff\xff\xff\x04aaaa", "latin1")],
    [
      "a packet without content",
      () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), encodeUint32(0), Buffer.alloc(16)]),
    ],
    [
      "padding beyond the packet",
      () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), encodeUint32(12), Buffer.alloc(12, 255)]),
    ],
    ["a cut offer", () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(offer().subarray(0, 40))])],
    [
      "no common algorithm",
      () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(offer("diffie-hellman-group1-sha1"))]),
    ],
    [
      "a login before the keys",
      () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(encodeMessage(5, encodeString("ssh-userauth")))]),
    ],
    [
      "a message before a strict exchange (Terrapin)",
      () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(encodeMessage(2, encodeString(""))), packet(offer())]),
    ],
    [
      "a message in a strict exchange (Terrapin)",
      () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(offer()), packet(encodeMessage(2, encodeString("")))]),
    ],
    [
      "a point without a secret",
      () =>
        Buffer.concat([
          Buffer.from("SSH-2.0-x\r\n"),
          packet(offer()),
          packet(encodeMessage(30, encodeString(Buffer.alloc(32)))),
        ]),
    ],
    [
      "a short public key",
      () =>
        Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(offer()), packet(encodeMessage(30, encodeString("abc")))]),
    ],
    ["two offers", () => Buffer.concat([Buffer.from("SSH-2.0-x\r\n"), packet(offer()), packet(offer())])],
  ];
  for (const [what, bytes] of faults) {
    it(`H4: a connection ends alone at ${what}`, async () => {
      const socket = await dial();
      const text = closed(socket);
      socket.write(bytes());
      assert.match(await text, /^SSH-2\.0-Postern_test\r\n/);
    });
  }

  it("H4: changed bytes of a key exchange end the connection or have no effect, and no login begins", async () => {
    const random = seededRandom(4711);
    const valid = Buffer.concat([
      Buffer.from("SSH-2.0-x\r\n"),
      packet(offer()),
      packet(encodeMessage(30, encodeString(randomBytes(32)))),
      packet(encodeMessage(21)),
      packet(encodeMessage(5, encodeString("ssh-userauth"))),
    ]);
    for (let round = 0; round < 200; round += 1) {
      const bytes = Buffer.from(valid);
      for (let count = 0; count < 1 + (round % 4); count += 1) {
        bytes[random.below(bytes.length)] = random.below(256);
      }
      const socket = await dial();
      const text = closed(socket);
      socket.end(bytes.subarray(0, random.below(bytes.length) + 1));
      await text;
    }
    assert.equal(links, 0);
  });
});
