import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { protocols } from "../support/agents.ts";
import { startFixture } from "../support/modules.ts";
import type { Fixture } from "../support/modules.ts";
import { accepting, openSockets, upgrade } from "../support/upgraded.ts";

let fixture: Fixture;
let accepted: () => Promise<Socket>;

before(async () => {
  fixture = await startFixture({ allowLocalUpstreams: true });
  accepted = accepting(fixture.service);
  fixture.put("static_backend", "bkdsc_1", { address: `127.0.0.1:${fixture.servicePort}`, tls: { enabled: false } });
});
after(() => fixture.stop());

/** What arrives until the end of the direction. */
async function readAll(stream: Duplex): Promise<string> {
  let text = "";
  stream.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  stream.resume();
  await Promise.race([once(stream, "end"), once(stream, "close")]).catch(() => undefined);
  return text;
}

function closed(stream: Duplex): Promise<void> {
  return new Promise((resolve) => stream.once("close", resolve));
}

/** Speaks until it is learnt that nobody is there. */
async function speakToNobody(socket: Duplex): Promise<void> {
  while (!socket.destroyed) {
    if (!socket.writableNeedDrain) socket.write("anybody?");
    await turn();
  }
}

for (const protocol of protocols) {
  for (const backend of ["bkdtg_1", "bkdsc_1"]) {
    describe(`an upgraded exchange over ${protocol}, with ${backend} behind`, { timeout: 30_000 }, () => {
      let sockets = 0;
      before(async () => {
        fixture.route({ backend: { enabled: true, backend_id: backend } });
      });
      const open = async () => {
        await settled();
        sockets = openSockets();
        const client = await upgrade(fixture, protocol);
        return { client, service: await accepted() };
      };
      /** Everything is closed that the exchange had open. */
      const freed = async (): Promise<void> => {
        while (openSockets() > sockets) await turn();
      };

      it("D2: frees everything when its client has gone and the service does not end its side for a minute", async () => {
        const { client, service } = await open();
        client.stream.end();
        await once(service.resume(), "end");
        fixture.clock.move(50_000);
        service.write("still here");
        assert.equal(String((await once(client.stream.resume(), "data"))[0]), "still here");
        const rest = readAll(client.stream);
        fixture.clock.move(11_000);
        await rest;
        await speakToNobody(service);
        client.destroy();
        await freed();
      });

      it("D2: frees everything when the service has ended and the client does not end its side for a minute", async () => {
        const { client, service } = await open();
        service.end("bye");
        assert.equal(await readAll(client.stream), "bye");
        fixture.clock.move(50_000);
        client.stream.write("one more");
        assert.equal(String((await once(service, "data"))[0]), "one more");
        fixture.clock.move(11_000);
        await closed(service);
        client.destroy();
        await freed();
      });

      it("ends each direction by itself, with all that was said", async () => {
        const { client, service } = await open();
        const said = "x".repeat(300_000);
        service.end("bye");
        assert.equal(await readAll(client.stream), "bye");
        client.stream.end(said);
        await turn();
        assert.equal(await readAll(service), said);
        client.destroy();
        await freed();
      });

      it("is cut off at the service when its client breaks it off", async () => {
        const { client, service } = await open();
        service.resume();
        client.cut();
        await speakToNobody(service);
        client.destroy();
        await freed();
      });

      it("is cut off at the client when the service breaks it off", async () => {
        const { client, service } = await open();
        client.stream.resume();
        service.resetAndDestroy();
        await speakToNobody(client.stream);
        client.destroy();
        await freed();
      });
    });
  }
}

/** What earlier exchanges had open is closed: nothing is under way for some turns. */
async function settled(): Promise<void> {
  let before = -1;
  for (let calm = 0; calm < 20; calm += 1) {
    await turn();
    if (openSockets() !== before) calm = 0;
    before = openSockets();
  }
}
