/** Connections with broken TLS are closed immediately, with an alert that states the reason, and leave nothing open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { bareClient, brokenClient, brokenRecord, helloOf, serverGone } from "../support/broken-tls.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { connectionEdge } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";
import { seededRandom } from "../support/random.ts";
import { openSockets } from "../support/upgraded.ts";

const recordTypes = { changeCipherSpec: 20, alert: 21, handshake: 22, data: 23, heartbeat: 24, unknown: 99 } as const;
const tlsHost = "db.example.com";
let fixture: EdgeWithAgent;
let service: TcpService;
let agent: TestAgent;

before(async () => {
  fixture = await startEdgeWithAgent();
  service = await startTcpService((socket) => void socket.on("end", () => socket.end()).resume());
  agent = await connectAgent(fixture.edge, fixture.token, service.port, false);
  await agent.label({ app: "db" });
  const termination = { terminate_at: "edge", min_version: null };
  for (const object of connectionEdge("tls_edge", "db", [`${tlsHost}:443`], { tls_termination: termination })) {
    fixture.edge.put(object);
  }
});
after(async () => {
  agent.close();
  await service.stop();
  await fixture.stop();
});

const listeners = {
  "an HTTPS edge": () => ({ port: fixture.edge.edge.https.port, servername: host, ALPNProtocols: ["http/1.1"] }),
  "an HTTPS edge in HTTP/2": () => ({ port: fixture.edge.edge.https.port, servername: host, ALPNProtocols: ["h2"] }),
  "a TLS edge": () => ({ port: fixture.edge.edge.https.port, servername: tlsHost }),
  "the agents' listener": () => ({ port: fixture.edge.edge.agent.port, servername: "localhost" }),
};

/** TCP connections once nothing is under way. */
async function calm(): Promise<number> {
  let before = -1;
  for (let turns = 0; turns < 20; turns += 1) {
    await turn();
    if (openSockets() !== before) turns = 0;
    before = openSockets();
  }
  return before;
}

/** Resolves when only the client's own descriptor of its connection is left. */
async function freed(before: number, own: number): Promise<void> {
  while (openSockets() > before + own) await turn();
}

/** Type and length of the last TLS record. */
function lastRecord(bytes: Buffer): readonly number[] {
  let last: readonly number[] = [];
  for (let at = 0; at + 5 <= bytes.length; at += 5 + (last[1] as number)) {
    last = [bytes[at] as number, bytes.readUInt16BE(at + 3)];
  }
  return last;
}

for (const [name, target] of Object.entries(listeners)) {
  describe(`D2: the connection to ${name} is closed immediately`, { timeout: 30_000 }, () => {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      it(`D2: the connection to ${name} is closed immediately on any record of ${version} that does not come from its peer`, async () => {
        const random = seededRandom(7);
        const records = Object.values(recordTypes).flatMap((type) => [
          brokenRecord(random, [type]),
          brokenRecord(random, [type]),
        ]);
        const plain = [
          Buffer.from([recordTypes.changeCipherSpec, 3, 3, 0, 1, 1]),
          Buffer.from([recordTypes.alert, 3, 3, 0, 2, 2, 40]),
          Buffer.from("garbage garbage garbage"),
        ];
        const { port, ...options } = target();
        for (const record of [...records, ...plain]) {
          const before = await calm();
          const ca = fixture.edge.authority.certificatePem;
          const client = await brokenClient(port, { ...options, ca, maxVersion: version });
          client.bare.write(record);
          await serverGone(client.bare);
          assert.match(await client.alert, /ALERT/);
          await freed(before, client.bare.destroyed ? 0 : 1);
          client.bare.destroy();
        }
      });
    }

    it(`D2: the connection to ${name} is closed immediately when bytes after a ClientHello belong to no handshake`, async () => {
      const random = seededRandom(8);
      const { port, ...options } = target();
      const hello = await helloOf(options);
      for (let round = 0; round < 12; round += 1) {
        const before = await calm();
        const bare = await bareClient(port);
        bare.write(Buffer.concat([hello, brokenRecord(random, Object.values(recordTypes))]));
        await serverGone(bare);
        await freed(before, bare.destroyed ? 0 : 1);
        bare.destroy();
      }
    });

    it(`D2: the connection to ${name} is closed with an alert when the bytes after a ClientHello exceed one piece`, async () => {
      const { port, ...options } = target();
      for (const [version, alertRecord] of [
        ["TLSv1.2", [recordTypes.alert, 2]],
        ["TLSv1.3", [recordTypes.data, 19]],
      ] as const) {
        const hello = await helloOf({ ...options, minVersion: version, maxVersion: version });
        for (const type of [recordTypes.changeCipherSpec, recordTypes.data, recordTypes.unknown]) {
          for (const size of [100, 900, 1100, 2000, 16_000]) {
            const record = Buffer.alloc(size, 0x41);
            record.set([type, 3, 3, (size - 5) >> 8, (size - 5) & 255]);
            const bare = await bareClient(port);
            const received: Buffer[] = [];
            bare.on("data", (bytes: Buffer) => received.push(bytes));
            bare.write(Buffer.concat([hello, record]));
            await serverGone(bare);
            bare.destroy();
            assert.deepEqual(lastRecord(Buffer.concat(received)), alertRecord, `${version}, ${size} bytes of ${type}`);
          }
        }
      }
    });

    it(`D2: the connection to ${name} is closed immediately with \`unexpected_message\` if its first record is not a ClientHello`, async () => {
      const random = seededRandom(9);
      const { port } = target();
      const { handshake: _, ...others } = recordTypes;
      for (let round = 0; round < 12; round += 1) {
        const before = await calm();
        const bare = await bareClient(port);
        bare.write(brokenRecord(random, round < 4 ? [Object.values(others)[round] as number] : Object.values(others)));
        const [alert] = (await once(bare, "data")) as [Buffer];
        assert.equal(alert.toString("hex"), "1503030002020a");
        await serverGone(bare);
        await freed(before, bare.destroyed ? 0 : 1);
        bare.destroy();
      }
    });
  });
}

it("bytes that are broken behind a request close its connection, after it was answered", async () => {
  const ca = fixture.edge.authority.certificatePem;
  const { port, ...options } = listeners["an HTTPS edge"]();
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    const client = await brokenClient(port, { ...options, ca, maxVersion });
    client.tls.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    assert.match(String((await once(client.tls, "data"))[0]), /^HTTP\/1.1 200 /);
    client.bare.write("garbage garbage garbage");
    await serverGone(client.bare);
    client.bare.destroy();
  }
});
