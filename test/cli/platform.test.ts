/** Both planes and an agent together, as a user has them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { databases } from "../support/postgres.ts";
import { switching } from "../support/upgraded.ts";

for (const database of databases) {
  describe(`the platform on ${database.name}`, () => {
    let stored: Awaited<ReturnType<typeof database.create>>;
    let platform: TestPlatform;
    let upstream: HttpService;

    before(async () => {
      stored = await database.create();
      platform = await startPlatform({ database: stored.url });
      upstream = await startHttpService((request, response) => {
        let body = "";
        request.on("data", (chunk: Buffer) => (body += chunk.toString()));
        request.on("end", () => response.end(`${request.method} ${request.url} ${body}`));
      });
      upstream.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
        socket.on("error", () => {});
        socket.write(`${switching(request)}hello `);
        socket.write(head);
        socket.pipe(socket);
      });
    });
    after(async () => {
      await platform.stop();
      await stored.drop();
      await upstream.stop();
    });

    for (const http of ["h1", "h2"] as const) {
      it(`the platform on ${database.name} forwards a request over ${http} through edge, tunnel and agent to a service, and returns the response`, async () => {
        const agent = await platform.startAgent({ upstream: upstream.port });
        const answer = await platform.request(`${agent.url}/path?query`, { http, method: "POST", body: "body" });
        assert.equal(answer.status, 200);
        assert.equal(answer.text, "POST /path?query body");
        assert.deepEqual(
          agent.requests.map(({ method, target, status }) => [method, target, status]),
          [["POST", "/path?query", 200]],
        );
        await agent.close();
      });
    }

    it(`the platform on ${database.name} publishes the URL that the agent requests, and rejects it with an error name if another agent holds it`, async () => {
      const url = `https://wanted.localhost:${platform.httpsPort}`;
      const agent = await platform.startAgent({ upstream: upstream.port, url: "https://wanted.localhost" });
      assert.equal(agent.url, url);
      const { body } = await platform.api("POST", "/accounts", { name: "other" });
      const other = await platform.startAgent({ upstream: 1, url, token: body.authtoken, offline: true });
      assert.equal((await other.ended).reason, "name_taken");
      const sibling = await platform.startAgent({ upstream: 1, url, offline: true });
      const { reason, message } = await sibling.ended;
      assert.equal(reason, "name_taken");
      const [, holder] = /the tunnel session "(ts_\w+)"/.exec(message) ?? [];
      assert.equal((await platform.api("GET", `/tunnel_sessions/${holder}`)).status, 200);
      assert.equal((await platform.request(url)).status, 200);
      await agent.close();
    });

    it(`K5: the platform on ${database.name} rejects the token, and the agent gives up immediately`, async () => {
      const agent = await platform.startAgent({ upstream: 1, token: "no-such-token", offline: true });
      assert.equal((await agent.ended).reason, "credentials");
      assert.equal(agent.statuses.filter(({ state }) => state === "connecting").length, 1);
    });

    it(`the platform on ${database.name} sends identity providers URLs with the edge's actual port`, async () => {
      const edge = (await platform.api("POST", "/edges/https", {})).body;
      const saml = { idp_metadata_url: "https://idp.example.com/metadata" };
      const body = { match_type: "path_prefix", match: "/", saml };
      const route = (await platform.api("POST", `/edges/https/${edge.id}/routes`, body)).body;
      assert.equal(route.saml.entity_id, `https://idp.localhost:${platform.httpsPort}/saml/${route.id}`);
      assert.equal((await platform.api("DELETE", `/edges/https/${edge.id}`)).status, 204);
    });

    it(`the platform on ${database.name} serves a tunnel on a connection that is older than the tunnel`, async () => {
      const socket = await platform.connect("early.localhost");
      const ask = async (): Promise<string> => {
        socket.write("GET / HTTP/1.1\r\nHost: early.localhost\r\n\r\n");
        const [answer] = (await once(socket, "data")) as [Buffer];
        return answer.toString("latin1").slice(0, 12);
      };
      assert.equal(await ask(), "HTTP/1.1 404");
      const agent = await platform.startAgent({ upstream: upstream.port, url: "https://early.localhost" });
      assert.equal(await ask(), "HTTP/1.1 200");
      socket.destroy();
      await agent.close();
    });

    it(`the platform on ${database.name} forwards a WebSocket's bytes both ways, including those that arrive with the response`, async () => {
      const agent = await platform.startAgent({ upstream: upstream.port });
      const { hostname, host } = new URL(agent.url);
      const socket = await platform.connect(hostname);
      socket.write(
        `GET /ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      );
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      while (!text.includes("hello ")) await once(socket, "data");
      assert.match(text, /^HTTP\/1\.1 101 /);
      socket.write("there and back");
      while (!text.endsWith("there and back")) await once(socket, "data");
      socket.destroy();
      await agent.close();
    });

    it(`the platform on ${database.name} answers 502 with the agent's code when the service is down`, async () => {
      const agent = await platform.startAgent({ upstream: "127.0.0.1:1" });
      const answer = await platform.request(agent.url, { headers: { accept: "application/json" } });
      assert.equal(answer.status, 502);
      assert.match(answer.text, new RegExp(errorCode("agent_dial_failed")));
      await agent.close();
    });

    it(`the platform on ${database.name} answers 503 or 404 after the agent has ended, and not before`, async () => {
      const agent = await platform.startAgent({ upstream: upstream.port });
      const { url } = agent;
      assert.equal((await platform.request(url)).status, 200);
      await agent.close();
      assert.match(String((await platform.request(url)).status), /^(404|503)$/);
    });

    it(`S4: the platform on ${database.name} serves and accepts agents while the control plane is stopped, and then follows the next one`, async () => {
      const agent = await platform.startAgent({ upstream: upstream.port });
      await platform.stopControlPlane();
      assert.equal((await platform.request(agent.url)).status, 200);
      const later = await platform.startAgent({ upstream: upstream.port, url: "https://later.localhost" });
      assert.equal((await platform.request(later.url)).status, 200);
      await platform.startControlPlane();
      const tunnels = await platform.api("GET", "/tunnels");
      assert.deepEqual(
        tunnels.body.tunnels.map((tunnel: { public_url: string }) => tunnel.public_url).sort(),
        [agent.url, later.url].sort(),
      );
      await agent.close();
      await later.close();
    });

    it(`K5: the platform on ${database.name} ends the sessions of a token that is deleted`, async () => {
      const { body } = await platform.api("POST", "/credentials", { description: "short-lived" });
      const agent = await platform.startAgent({ upstream: upstream.port, token: body.token });
      await platform.api("DELETE", `/credentials/${body.id}`);
      assert.equal((await agent.ended).reason, "credentials");
    });

    it(`G5: an agent reconnects after a restart of the server, with the same URL, on ${database.name}`, async () => {
      const agent = await platform.startAgent({ upstream: upstream.port });
      const { url } = agent;
      await platform.restart();
      await agent.online(2);
      assert.equal(agent.url, url);
      assert.equal((await platform.request(url)).status, 200);
      await agent.close();
    });

    it(`the platform on ${database.name} serves a labelled tunnel through an edge with a backend, and lists it`, async () => {
      const labels = { app: "web", dc: "eu" };
      const backend = (await platform.api("POST", "/backends/tunnel_group", { labels })).body;
      const edge = (await platform.api("POST", "/edges/https", { hostports: ["shop.localhost:443"] })).body;
      const route = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        backend: { enabled: true, backend_id: backend.id },
      });
      assert.equal(route.status, 201, route.text);
      const agent = await platform.startAgent({ upstream: upstream.port, labels });
      assert.equal((await platform.request("https://shop.localhost/cart")).text, "GET /cart ");
      const tunnels = (await platform.api("GET", "/tunnels")).body.tunnels;
      assert.deepEqual(
        tunnels.map((tunnel: { labels: unknown }) => tunnel.labels),
        [labels],
      );
      assert.equal((await platform.api("GET", `/backends/tunnel_group/${backend.id}`)).body.tunnels.length, 1);
      await agent.close();
      const gone = await platform.request("https://shop.localhost/cart", { headers: { accept: "application/json" } });
      assert.equal(gone.status, 503);
      assert.match(gone.text, new RegExp(errorCode("backend_empty")));
    });
  });
}

describe("a platform whose tunnel.key is lost", () => {
  it("a platform whose tunnel.key is lost gives agents their previous URLs, which derive from token and target", async () => {
    const platform = await startPlatform();
    const upstream = await startHttpService((_request, response) => response.end("served"));
    const publish = async (): Promise<string> => {
      const agent = await platform.startAgent({ upstream: upstream.port });
      const { url } = agent;
      await agent.close();
      return url;
    };
    const url = await publish();
    rmSync(join(platform.directory, "tunnel.key"));
    await platform.restart();
    assert.equal(await publish(), url);
    await platform.stop();
    await upstream.stop();
  });
});

describe("a platform that stops", () => {
  let platform: TestPlatform;
  let upstream: HttpService;
  const waiting = Promise.withResolvers<ServerResponse>();
  before(async () => {
    platform = await startPlatform({ drainMs: 60_000 });
    upstream = await startHttpService((_request, response) => waiting.resolve(response));
  });
  after(async () => {
    await platform.stop();
    await upstream.stop();
  });

  it("a platform that stops is not ready while it finishes open requests", async () => {
    const agent = await platform.startAgent({ upstream: upstream.port });
    const isReady = async (of = ""): Promise<number> => (await platform.api("GET", `/readyz${of}`)).status;
    assert.equal(await isReady(), 200);
    const answer = platform.request(agent.url);
    const response = await waiting.promise;
    const stopped = platform.stopServer();
    const ended = await eventually(isReady, (status) => status !== 200);
    assert.equal(ended, 503);
    assert.equal(await isReady("?of=writes"), 200);
    response.end("finished");
    assert.equal((await answer).text, "finished");
    await stopped;
  });
});

describe("a platform that stops with a delay", () => {
  it("a platform that stops with a delay still serves visitors while it reports that it is not ready", async () => {
    const platform = await startPlatform({ drainDelay: 3 });
    const upstream = await startHttpService((_request, response) => response.end("served"));
    const agent = await platform.startAgent({ upstream: upstream.port });
    assert.equal((await platform.api("GET", "/readyz")).status, 200);
    const stopped = platform.stopServer();
    await eventually(
      async () => (await platform.api("GET", "/readyz")).status,
      (status) => status === 503,
    );
    assert.equal((await platform.request(agent.url)).text, "served");
    await stopped;
    await platform.stop();
    await upstream.stop();
  });

  it("skips the delay if nothing checks its readiness and it has no visitors", async () => {
    // With the delay, the test would run into its time limit.
    const platform = await startPlatform({ drainDelay: 3600 });
    await platform.startAgent({ upstream: 9 });
    await platform.stopServer();
    await platform.stop();
  });
});
