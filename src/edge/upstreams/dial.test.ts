import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, it } from "node:test";
import { startDns } from "../../../test/support/dns.ts";
import { systemClock } from "../../lib/clock.ts";
import { createAuthority, issueLeaf } from "../../lib/certificates/x509.ts";
import { useNameServers } from "../../outbound/names/resolve-name.ts";
import { dialAddress, mayDial } from "./dial.ts";
import type { DialOptions, StaticAddress } from "./dial.ts";

const clock = systemClock;

function dialled(target: StaticAddress, options: DialOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    dialAddress(target, "ac_1", options, (result) => (result instanceof Error ? reject(result) : resolve(result)));
  });
}

describe("static addresses", () => {
  it("I7: static addresses inside the machine are never dialled, in any notation", () => {
    const local = ["127.0.0.1", "127.9.9.9", "169.254.169.254", "::1", "fe80::1", "febf::1", "::ffff:127.0.0.1"];
    const hidden = ["64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:169.254.169.254", "::127.0.0.1"];
    for (const address of [...local, ...hidden]) assert.equal(mayDial(address, false), false, address);
    const metadata = [
      "fd00:ec2::254",
      "168.63.129.16",
      "100.100.100.200",
      "192.0.0.192",
      "::ffff:168.63.129.16",
      "64:ff9b::a83f:8110",
    ];
    for (const address of metadata) {
      assert.equal(mayDial(address, false), false, address);
      assert.equal(mayDial(address, true), true, address);
    }
    for (const address of [...local, "10.0.0.1"]) assert.equal(mayDial(address, true), true, address);
    for (const address of ["0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "no address"]) {
      assert.equal(mayDial(address, true), false, address);
    }
    for (const address of ["192.0.2.1", "10.1.2.3", "2001:db8::1", "fd00::1", "64:ff9b::c000:201"]) {
      assert.equal(mayDial(address, false), true, address);
    }
  });

  it("I7: a name that resolves to a loopback address is refused before dialling", async () => {
    let connections = 0;
    const server = createServer(() => (connections += 1)).listen(0);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const options = { clock, allowLocal: false };
    for (const host of ["localhost", "127.0.0.1", "::1"]) {
      await assert.rejects(dialled({ host, port, tls: false }, options), /not allowed/);
    }
    const socket = await dialled({ host: "localhost", port, tls: false }, { clock, allowLocal: true });
    socket.destroy();
    assert.equal(connections, 1);
    server.close();
  });

  it("I7: a second look-up cannot replace the address that was checked", async () => {
    const reached: string[] = [];
    const checked = createServer((socket) => void reached.push(socket.localAddress ?? "")).listen(0, "127.0.0.2");
    await once(checked, "listening");
    const { port } = checked.address() as AddressInfo;
    const other = createServer((socket) => void reached.push(socket.localAddress ?? "")).listen(port, "127.0.0.3");
    await once(other, "listening");
    const dns = await startDns();
    dns.addresses.set("rebound.example", ["127.0.0.2", "127.0.0.3"]);
    useNameServers([dns.address]);
    try {
      const socket = await dialled({ host: "rebound.example", port, tls: false }, { clock, allowLocal: true });
      assert.equal(socket.remoteAddress, "127.0.0.2");
      assert.deepEqual(dns.queries, ["rebound.example"]);
      socket.destroy();
    } finally {
      useNameServers([]);
      await dns.stop();
      checked.close();
      other.close();
    }
  });

  it("static addresses are dialled over TLS only if the certificate matches the name", async () => {
    const now = Date.now();
    const authority = await createAuthority({ commonName: "test", now });
    const { certificatePem, keyPem } = await issueLeaf(authority, { names: ["localhost"], now, days: 2 });
    const server = createTlsServer({ cert: certificatePem, key: keyPem }, (socket) => socket.end("hello")).listen(0);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const trusted = { clock, allowLocal: true, ca: authority.certificatePem };
    const socket = await dialled({ host: "localhost", port, tls: true }, trusted);
    const [greeting] = (await once(socket, "data")) as [Buffer];
    assert.equal(String(greeting), "hello");
    socket.destroy();
    await assert.rejects(dialled({ host: "127.0.0.1", port, tls: true }, trusted), /127\.0\.0\.1/);
    await assert.rejects(dialled({ host: "localhost", port, tls: true }, { clock, allowLocal: true }), /certificate/);
    server.close();
  });
});
