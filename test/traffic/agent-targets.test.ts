/** Targets of an agent other than ports: Unix sockets, and several services by path. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "../../src/lib/http.ts";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseTargets } from "../../src/agent/parse-targets.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { switching } from "../support/upgraded.ts";

describe("an agent's targets", { timeout: 120_000 }, () => {
  let platform: TestPlatform;
  const services: HttpService[] = [];
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    for (const name of ["web", "api"]) {
      const service = await startHttpService((request, response) => {
        let body = "";
        request.on("data", (bytes: Buffer) => (body += bytes.toString()));
        request.on("end", () => response.end(`${name} ${request.method} ${request.url} ${body}`));
      });
      service.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
        socket.on("error", () => {});
        socket.write(`${switching(request)}${name} `);
        socket.write(head);
        socket.pipe(socket);
      });
      services.push(service);
    }
  });
  after(async () => {
    await platform.stop();
    for (const service of services) await service.stop();
  });

  it("an agent's target may be a unix socket", async () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-unix-"));
    const server = createServer((_, response) => response.end("from a socket")).listen(join(directory, "app.sock"));
    await once(server, "listening");
    const upstream = parseTargets([`unix:${join(directory, "app.sock")}`]);
    const agent = await platform.startAgent({ upstream: 1, tunnel: { upstream } });
    assert.equal((await platform.request(agent.url)).text, "from a socket");
    await agent.close();
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true });
  });

  for (const http of ["h1", "h2"] as const) {
    it(`an agent's targets are chosen by path, whole segments, for requests over ${http}`, async () => {
      const [web, api] = services as [HttpService, HttpService];
      const upstream = parseTargets([String(web.port), `/api=${api.port}`]);
      const agent = await platform.startAgent({ upstream: 1, tunnel: { upstream } });
      const ask = async (path: string) =>
        (await platform.request(`${agent.url}${path}`, { http, method: "POST", body: "body" })).text;
      assert.equal(await ask("/"), "web POST / body");
      assert.equal(await ask("/api"), "api POST /api body");
      assert.equal(await ask("/api/v1?a=b"), "api POST /api/v1?a=b body");
      assert.equal(await ask("/apiary"), "web POST /apiary body");
      assert.deepEqual(
        agent.requests.map(({ target, status }) => `${target} ${status}`),
        ["/ 200", "/api 200", "/api/v1?a=b 200", "/apiary 200"],
      );
      await agent.close();
    });
  }

  it("an agent's targets by path support WebSockets, and a path without a target is reported", async () => {
    const api = services[1] as HttpService;
    const agent = await platform.startAgent({
      upstream: 1,
      tunnel: { upstream: parseTargets([`/api=${api.port}`, "/gone=127.0.0.1:1"]) },
    });
    const { hostname, host } = new URL(agent.url);
    const socket = await platform.connect(hostname);
    socket.write(
      `GET /api/ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    while (!text.includes("api ")) await once(socket, "data");
    socket.write("there and back");
    while (!text.endsWith("there and back")) await once(socket, "data");
    socket.destroy();
    assert.equal((await platform.request(`${agent.url}/other`)).status, 404);
    assert.equal((await platform.request(`${agent.url}/gone`)).status, 502);
    await agent.close();
  });

  for (const [targets, message] of [
    [["3000", "4000"], /must begin with a path/],
    [["/api=3000", "/api/=4000"], /two targets at "\/api"/],
    [["/api=h2c://localhost:3000"], /an HTTP\/2 target must be the only target/],
    [["/a?b=3000"], /must be a path/],
    [["unix:relative.sock"], /absolute/],
    [["file://relative"], /absolute/],
    [["file:///nowhere-at-all"], /no directory/],
  ] as const) {
    it(`an agent's targets ${targets.join(" ")} are refused`, () => {
      assert.throws(() => parseTargets(targets), message);
    });
  }

  it("an agent's target may say that it speaks HTTP/2", () => {
    const { host, port, tls, http2 } = parseTargets(["h2c://localhost:50051"]);
    assert.deepEqual([host, port, tls, http2], ["localhost", 50_051, false, true]);
  });
});
