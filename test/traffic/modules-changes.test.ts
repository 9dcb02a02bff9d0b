/** Configuration changes do not affect requests in flight or other routes. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { routeId, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";
import { clientFrame, opcodes, openWebSocket } from "../support/websocket.ts";

let fixture: EdgeWithAgent;
const upgraded = new Set<Duplex>();
before(async () => {
  fixture = await startEdgeWithAgent();
  for (const { kind, id, doc } of ipPolicy("ipp_nobody", { "192.0.2.1/32": "allow" })) fixture.put(kind, id, doc);
  fixture.service.on("upgrade", (request, socket: Duplex) => {
    upgraded.add(socket);
    socket.on("error", () => {});
    const proof = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${proof}\r\n\r\n`,
    );
    // Echoes frames, including their mask, inside new frames.
    socket.on("data", (bytes: Buffer) => socket.write(Buffer.concat([Buffer.from([0x82, bytes.length]), bytes])));
  });
});
after(async () => {
  for (const socket of upgraded) socket.destroy();
  await fixture.stop();
});

/** A request that the service holds until it is released. */
async function held(
  asking: () => Promise<Asked>,
): Promise<{ readonly answer: Promise<Asked>; readonly release: () => void }> {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  fixture.answer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.write("first, ");
    arrived.resolve();
    void released.promise.then(() => response.end("second"));
  });
  const answer = asking();
  await arrived.promise;
  fixture.answer(undefined);
  return { answer, release: () => released.resolve() };
}

const nobody = { ip_restriction: { enabled: true, ip_policy_ids: ["ipp_nobody"] } };
const marked = (mark: string) => ({ response_headers: { enabled: true, remove: [], add: { "x-mark": mark } } });

for (const protocol of protocols) {
  describe(`changes under traffic over ${protocol}`, () => {
    const ask = () => fixture.ask(protocol, { headers: { "accept-encoding": "identity" } });

    it(`a request in flight ends on the configuration that it began with; the next one has the new, over ${protocol}`, async () => {
      for (const change of [
        () => fixture.route(nobody),
        () => fixture.route(marked("new")),
        () => fixture.edge.remove("https_edge_route", routeId),
        () => fixture.put("https_edge", "edghts_1", { hostports: ["app.example.com:443"], mutual_tls: null }),
        () => fixture.edge.remove("tunnel_group_backend", "bkdtg_1"),
      ]) {
        fixture.put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } });
        fixture.route(marked("old"));
        const { answer, release } = await held(ask);
        change();
        release();
        const { status, headers, body } = await answer;
        assert.equal(status, 200);
        assert.equal(headers["x-mark"], "old");
        assert.equal(body.toString(), "first, second");
      }
      fixture.put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } });
      fixture.route(marked("new"));
      assert.equal((await ask()).headers["x-mark"], "new");
    });

    it(`a module that is disabled or deleted acts on no further request, and acts again when it is back, over ${protocol}`, async () => {
      fixture.route(nobody);
      assert.equal((await ask()).status, 403);
      fixture.route({ ip_restriction: { enabled: false, ip_policy_ids: ["ipp_nobody"] } });
      assert.equal((await ask()).status, 200);
      fixture.route(nobody);
      assert.equal((await ask()).status, 403);
      fixture.route({ ip_restriction: null });
      assert.equal((await ask()).status, 200);
    });

    it(`W6: a long WebSocket survives unrelated changes and those of its own route, over ${protocol}`, async () => {
      fixture.route({});
      const client = await openWebSocket(fixture, protocol);
      const echoed = async (text: string): Promise<void> => {
        client.send(opcodes.binary, text);
        const { payload } = await client.next();
        assert.deepEqual(payload, clientFrame(opcodes.binary, Buffer.from(text)));
      };
      await echoed("before");
      for (const change of [
        () => fixture.route(nobody),
        () => fixture.route(marked("new")),
        () => fixture.put("https_edge", "edghts_2", { hostports: ["else.example.com:443"] }),
        () => fixture.put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } }),
        () => fixture.edge.remove("https_edge_route", routeId),
      ]) {
        change();
        await echoed("still here");
      }
      fixture.route(nobody);
      await assert.rejects(openWebSocket(fixture, protocol), /status 403/);
      await echoed("to the end");
      client.destroy();
    });

    it(`R6: a module that does not compile closes its own route, is reported, and opens when it is mended, over ${protocol}`, async () => {
      fixture.route({});
      const broken = {
        edge_id: "edghts_1",
        match_type: "path_prefix",
        match: "/broken",
        backend: { enabled: true, backend_id: "bkdtg_1" },
        ip_restriction: { enabled: true, ip_policy_ids: ["ipp_gone"] },
      };
      const id = `edghtsrt_broken_${protocol}`;
      fixture.put("https_edge_route", id, broken);
      const reached = fixture.received.length;
      const closed = await fixture.ask(protocol, { path: "/broken/x" });
      assert.equal(closed.status, 500);
      assert.equal(closed.headers["postern-error-code"], errorCode("route_broken"));
      assert.doesNotMatch(closed.body.toString(), /ipp_gone|ip_restriction/);
      assert.equal(fixture.received.length, reached);
      assert.equal((await ask()).status, 200);
      const report = await fixture.edge.report(
        (message) => message.type === "problems" && message.problems.some((problem) => problem.id === id),
      );
      assert.ok(report.type === "problems");
      const problem = report.problems.find((one) => one.id === id);
      assert.deepEqual([problem?.module, /ipp_gone/.test(problem?.message ?? "")], ["ip_restriction", true]);
      fixture.put("https_edge_route", id, { ...broken, ip_restriction: null });
      assert.equal((await fixture.ask(protocol, { path: "/broken/x" })).status, 200);
      fixture.edge.remove("https_edge_route", id);
    });

    it(`R6: a module that this server does not know closes its route too, over ${protocol}`, async () => {
      fixture.route({ unheard_of: { enabled: true } });
      assert.equal((await ask()).status, 500);
      fixture.route({ unheard_of: { enabled: false } });
      assert.equal((await ask()).status, 200);
    });

    it(`R1: the path that is forwarded is another spelling of the one that was matched, without dot segments, over ${protocol}`, async () => {
      fixture.route({});
      fixture.put("https_edge_route", "edghtsrt_admin", {
        edge_id: "edghts_1",
        match_type: "path_prefix",
        match: "/admin",
        backend: { enabled: true, backend_id: "bkdtg_1" },
        ...nobody,
      });
      for (const path of ["/admin", "/admin/x", "/a/../admin", "/%61dmin", "/./admin//"]) {
        assert.equal((await fixture.ask(protocol, { path })).status, 403, path);
      }
      for (const path of ["/admin%2fx", "/x/%2e%2e/admin", "/a%00", "/..%5cadmin", "/a\\admin", "/%ff"]) {
        assert.equal((await fixture.ask(protocol, { path })).status, 400, path);
      }
      assert.equal((await fixture.ask(protocol, { path: "/b/%7Ex/../%63" })).status, 200);
      assert.equal(fixture.received.at(-1)?.url, "/b/%63");
      assert.equal((await fixture.ask(protocol, { path: "/administrator" })).status, 200);
      fixture.edge.remove("https_edge_route", "edghtsrt_admin");
    });
  });
}

it("D3: a client that does not read a large response stops only its own stream", async () => {
  fixture.route({ compression: { enabled: true } });
  let wrote = 0;
  fixture.answer((request, response) => {
    if (request.url !== "/large") return void response.end("small");
    const write = (): void => {
      while (wrote < 50_000_000) {
        wrote += 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once("drain", write);
      }
      response.end();
    };
    write();
  });
  const stuck = await fixture.connect("h1");
  stuck.pause();
  stuck.write("GET /large HTTP/1.1\r\nHost: app.example.com\r\n\r\n");
  for (let count = 0; count < 30; count += 1) {
    for (const protocol of protocols) {
      assert.equal((await fixture.ask(protocol, { path: "/" })).body.toString(), "small");
    }
  }
  assert.ok(wrote < 20_000_000);
  stuck.destroy();
  await once(stuck, "close");
  fixture.answer(undefined);
});
