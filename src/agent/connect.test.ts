import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { createServer } from "node:tls";
import type { Server } from "node:tls";
import { after, before, describe, it } from "node:test";
import { startDns } from "../../test/support/dns.ts";
import { createAuthority, issueLeaf } from "../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../lib/certificates/x509.ts";
import { connectServer } from "./connect.ts";
import { endOf } from "./end.ts";

describe("the agent's connection", () => {
  const now = Date.now();
  let authority: KeyedCertificate;
  const servers: Server[] = [];
  let received = 0;
  const never = new AbortController().signal;

  const startServer = async (names: readonly string[]): Promise<number> => {
    const leaf = await issueLeaf(authority, { names, now, days: 1 });
    const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (socket) => {
      socket.on("data", (bytes: Buffer) => (received += bytes.length));
      socket.on("error", () => {});
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
    return (server.address() as AddressInfo).port;
  };

  before(async () => {
    authority = await createAuthority({ commonName: "Test", now });
  });
  after(() => {
    for (const server of servers) server.close();
  });

  it("G3: the agent's connection resumes the last session with a server, and only one that was verified with the same CA", async () => {
    const port = await startServer(["127.0.0.1"]);
    const at = { host: "127.0.0.1", port };
    const open = async (ca: string, options = {}): Promise<boolean> => {
      const socket = await connectServer(at, ca, never, options);
      const isResumed = socket.isSessionReused();
      if (!isResumed) await once(socket.resume(), "session");
      socket.destroy();
      return isResumed;
    };
    const { certificatePem } = authority;
    assert.equal(await open(certificatePem, { anyCertificate: true }), false);
    assert.equal(await open(certificatePem), false);
    assert.equal(await open(certificatePem), true);
    const stranger = await createAuthority({ commonName: "Stranger", now });
    await assert.rejects(open(stranger.certificatePem));
    assert.equal(await open(certificatePem), false);
  });

  it("the agent's connection succeeds when the server's name and CA match", async () => {
    const port = await startServer(["127.0.0.1"]);
    const socket = await connectServer({ host: "127.0.0.1", port }, authority.certificatePem, never);
    assert(socket.authorized);
    socket.destroy();
  });

  it("the agent's connection uses any address of the name that answers, and the configured name servers", async () => {
    const port = await startServer(["agents.two.test"]);
    const dns = await startDns();
    const address = { host: "agents.two.test", port };
    const socket = await connectServer(address, authority.certificatePem, never, { dnsServers: [dns.address] });
    assert.equal(socket.remoteAddress, "127.0.0.1", "nothing listens at ::1, which is tried before");
    socket.destroy();
    const nowhere = { host: "agents.nowhere.test", port };
    await assert.rejects(connectServer(nowhere, undefined, never, { dnsServers: [dns.address] }), /ENOTFOUND/);
    await dns.stop();
  });

  it("the agent's connection fails after its time limit", async () => {
    const silent = createTcpServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const connecting = connectServer({ host: "127.0.0.1", port }, undefined, never, { timeoutMs: 20 });
    await assert.rejects(connecting, /no answer within 0\.02 s/);
    silent.close();
  });

  it("G3: the agent's connection rejects a certificate for another name", async () => {
    const port = await startServer(["elsewhere.example"]);
    const error = await connectServer({ host: "127.0.0.1", port }, authority.certificatePem, never).catch(
      (reason: unknown) => reason,
    );
    assert.equal(endOf(error, false)?.reason, "untrusted");
  });

  it("G3: the agent's connection rejects a server of another CA, and any server when no CA is given", async () => {
    const port = await startServer(["127.0.0.1"]);
    const other = await createAuthority({ commonName: "Test", now });
    for (const ca of [other.certificatePem, undefined]) {
      const error = await connectServer({ host: "127.0.0.1", port }, ca, never).catch((reason: unknown) => reason);
      assert.equal(endOf(error, false)?.reason, "untrusted", String(error));
    }
  });

  it("G3: the agent's connection sends nothing to a server that it does not trust", () => assert.equal(received, 0));

  it("the agent's connection attempt ends when the agent closes", async () => {
    const port = await startServer(["127.0.0.1"]);
    const closing = new AbortController();
    const connecting = connectServer({ host: "127.0.0.1", port }, authority.certificatePem, closing.signal);
    closing.abort();
    await assert.rejects(connecting);
  });

  it("the agent's connection reports a refusal as a sentence", async () => {
    const error = await connectServer({ host: "127.0.0.1", port: 1 }, undefined, never).catch(
      (reason: unknown) => reason,
    );
    assert.deepEqual(endOf(error, false), { reason: "unreachable", message: "nothing listens there" });
    assert.equal(endOf(error, true), undefined);
  });
});
