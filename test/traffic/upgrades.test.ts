import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { errorCode } from "../../src/lib/errors.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { accepting, openSockets, upgrade } from "../support/upgraded.ts";

let fixture: EdgeWithAgent;
let accepted: () => Promise<Socket>;
/** The service's response instead of an upgrade. */
let declined: string | undefined;

before(async () => {
  fixture = await startEdgeWithAgent({ allowLocalUpstreams: true });
  accepted = accepting(fixture.service, () => declined);
  fixture.put("static_backend", "bkdsc_1", { address: `127.0.0.1:${fixture.servicePort}`, tls: { enabled: false } });
  // A line to another node stays open after its first use, so it is not among the counted sockets.
  await fixture.ask("h1");
});
after(() => fixture.stop());

/** Bytes until the end of the direction. */
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

/** Sends bytes until the end of the peer is known. */
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

      it(`D2: an upgraded exchange over ${protocol}, with ${backend} behind, releases everything when its client has disconnected and the service does not end its side within a minute`, async () => {
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

      it(`D2: an upgraded exchange over ${protocol}, with ${backend} behind, frees everything when the service has ended and the client does not end its side for a minute`, async () => {
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

      it(`an upgraded exchange over ${protocol}, with ${backend} behind, ends each direction separately, with all of its bytes`, async () => {
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

      it(`an upgraded exchange over ${protocol}, with ${backend} behind, is cut off at the service when its client breaks it off`, async () => {
        const { client, service } = await open();
        service.resume();
        client.cut();
        await speakToNobody(service);
        client.destroy();
        await freed();
      });

      it(`an upgraded exchange over ${protocol}, with ${backend} behind, is cut off at the client when the service breaks it off`, async () => {
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

describe("an upgrade to another protocol than WebSocket", { timeout: 30_000 }, () => {
  before(() => fixture.route({}));

  it("W5: passes bytes both ways, including those that arrived with the heads", async () => {
    const client = await upgrade(fixture, "h1", { upgrade: "tcp", first: "early" });
    const service = await accepted();
    assert.deepEqual([client.status, client.headers["upgrade"], client.headers["connection"]], [101, "tcp", "Upgrade"]);
    service.write("\0\xff");
    client.stream.write(" late");
    let seen = "";
    while (seen !== "early late") seen += String((await once(service, "data"))[0]);
    assert.equal(String((await once(client.stream.resume(), "data"))[0]), "\0\xff");
    client.stream.end();
    assert.equal(await readAll(service), "");
    service.end("done");
    assert.equal(await readAll(client.stream), "done");
    client.destroy();
  });

  it("W5: continues after the body of its request, as when attaching to a container", async () => {
    const body = '{"Detach":false}';
    const fields = { "content-length": String(body.length), "content-type": "application/json" };
    const first = `${body}typed`;
    const asked = once(fixture.service, "upgrade") as Promise<[IncomingMessage]>;
    const client = await upgrade(fixture, "h1", { method: "POST", upgrade: "tcp", fields, first });
    const service = await accepted();
    const [request] = await asked;
    assert.equal(request.method, "POST");
    let read = "";
    for await (const piece of request) read += String(piece);
    assert.equal(read, body);
    let typed = "";
    while (typed !== "typed") typed += String((await once(service, "data"))[0]);
    client.cut();
    await speakToNobody(service);
  });

  it("W5: offers what the client offers, except any form of HTTP, and accepts the service's choice", async () => {
    for (const [offered, forwarded, chosen] of [
      ["foo/1.0, bar", "foo/1.0, bar", "bar"],
      ["h2c, foo", "foo", "foo"],
      ["HTTP/2.0, TLS/1.0, websocket, H2C, foo", "foo", "foo"],
    ] as const) {
      const asked = once(fixture.service, "upgrade") as Promise<[IncomingMessage]>;
      const client = await upgrade(fixture, "h1", { upgrade: offered });
      assert.equal((await asked)[0].headers.upgrade, forwarded);
      assert.equal(client.headers["upgrade"], chosen);
      client.cut();
      await speakToNobody(await accepted());
    }
  });

  it("W5: an upgrade to another protocol than WebSocket is an ordinary request if nothing of its offer may be forwarded", async () => {
    for (const offered of ["h2c", "HTTP/2.0", "TLS/1.2, h2c", "not a token"]) {
      const client = await upgrade(fixture, "h1", { upgrade: offered });
      assert.equal(client.status, 200);
      assert.equal(fixture.received.at(-1)?.headers.upgrade, undefined);
      client.destroy();
    }
  });

  it("W5: an upgrade to another protocol than WebSocket is an ordinary response when the service declines it", async () => {
    declined = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    const client = await upgrade(fixture, "h1", { upgrade: "foo" });
    declined = undefined;
    assert.equal(client.status, 200);
    assert.equal(String((await once(client.stream.resume(), "data"))[0]), "no");
    client.destroy();
  });

  it("D2: an upgrade to another protocol than WebSocket stays open while bytes move after the end of one side, and is cut after an idle minute", async () => {
    const client = await upgrade(fixture, "h1", { upgrade: "tcp" });
    const service = await accepted();
    client.stream.end();
    await once(service.resume(), "end");
    client.stream.resume();
    for (let count = 0; count < 4; count += 1) {
      fixture.clock.move(40_000);
      service.write("still here");
      assert.equal(String((await once(client.stream, "data"))[0]), "still here");
    }
    fixture.clock.move(61_000);
    await readAll(client.stream);
    await speakToNobody(service);
    client.destroy();
  });

  it("I6: an upgrade to another protocol than WebSocket is refused where each message must be signed", async () => {
    fixture.route({ webhook_verification: { enabled: true, provider: "github", secret: "s".repeat(32) } });
    for (const protocol of protocols) {
      const client = await upgrade(fixture, protocol, { upgrade: protocol === "h1" ? "tcp" : "websocket" });
      assert.equal(client.status, 403);
      client.destroy();
    }
    fixture.route({});
  });
});

describe("a WebSocket over HTTP/2 that the service does not open", { timeout: 30_000 }, () => {
  before(() => fixture.route({}));
  const answer = async (
    head: string,
  ): Promise<{ readonly status: number; readonly code: unknown; readonly body: string }> => {
    declined = `HTTP/1.1 ${head}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`;
    const client = await upgrade(fixture, "h2");
    declined = undefined;
    const body = await readAll(client.stream);
    client.destroy();
    return { status: client.status, code: client.headers["postern-error-code"], body };
  };

  for (const head of ["200 OK", "201 Created", "302 Found\r\nLocation: /", "101 Switching Protocols"]) {
    it(`W4: a WebSocket over HTTP/2 that the service does not open is not open when it is answered ${head.slice(0, 3)}`, async () => {
      const { status, code, body } = await answer(head);
      assert.equal(status, 502);
      assert.match(String(code), new RegExp(`^(?:${errorCode("upstream_invalid")}|${errorCode("not_upgraded")})$`));
      assert.doesNotMatch(body, /^body/);
    });
  }

  it("a WebSocket over HTTP/2 that the service does not open is answered as the service refuses it", async () => {
    assert.deepEqual(await answer("403 Forbidden"), { status: 403, code: undefined, body: "body" });
    assert.deepEqual(await answer("503 Service Unavailable"), { status: 503, code: undefined, body: "body" });
  });

  it("W4: a WebSocket over HTTP/2 that the service does not open is not open when the edge itself answers with success", async () => {
    fixture.put("http_response_backend", "bkdhr_1", { status_code: 200, body: "fine", headers: {} });
    fixture.route({ backend: { enabled: true, backend_id: "bkdhr_1" } });
    const client = await upgrade(fixture, "h2");
    assert.equal(client.status, 502);
    assert.equal(client.headers["postern-error-code"], errorCode("not_upgraded"));
    client.destroy();
    fixture.route({});
  });
});

/** Connections of earlier exchanges have closed: no activity for some turns. */
async function settled(): Promise<void> {
  let before = -1;
  for (let calm = 0; calm < 20; calm += 1) {
    await turn();
    if (openSockets() !== before) calm = 0;
    before = openSockets();
  }
}
