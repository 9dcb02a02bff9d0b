/**
 * Visitors at one edge with their agent at another: the line between the edges carries everything that a direct
 * connection does.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { freePort, readToEnd } from "../support/connections.ts";
import { protocols, readBody } from "../support/http-client.ts";
import { newCredential } from "../support/objects.ts";
import { startHttpService, startTcpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { peerWays, startTwoEdges, tcpHosts } from "../support/two-edges.ts";
import type { TwoEdges } from "../support/two-edges.ts";
import { switching } from "../support/upgraded.ts";
import { opcodes, openWebSocket } from "../support/websocket.ts";

describe("a visitor of another edge than the agent's", () => {
  const { token, object } = newCredential();
  let both: TwoEdges;
  let service: HttpService;
  let agent: TestAgent;
  let host: string;

  before(async () => {
    both = await startTwoEdges([object]);
    service = await startHttpService((request, response) => {
      void readBody(request).then((body) => {
        response.setHeader("x-forwarded", String(request.headers["x-forwarded-for"]));
        response.end(`${request.method} ${createHash("sha256").update(body).digest("hex")}`);
      });
    });
    agent = await connectAgent(both.edges[0], token, service.port);
    host = new URL((await agent.bind({ hostname: "app.example.com" })).url).hostname;
  });
  after(async () => {
    agent.close();
    await service.stop();
    await both.stop();
  });

  for (const http of protocols) {
    it(`a visitor of another edge than the agent's is answered by the service over ${http}, which sees whose request it is`, async () => {
      const body = Buffer.alloc(3_000_000, http);
      const answer = await both.edges[1].ask(http, { host, method: "POST", body, source: "127.0.0.9" });
      assert.equal(answer.status, 200);
      assert.equal(answer.text, `POST ${createHash("sha256").update(body).digest("hex")}`);
      assert.equal(answer.headers["x-forwarded"], "127.0.0.9");
    });

    it(`a visitor of another edge than the agent's gets no service over ${http} once the tunnel is gone`, async () => {
      const { id, url } = await agent.bind({ hostname: `gone-${http}.example.com` });
      const gone = new URL(url).hostname;
      assert.equal((await both.edges[1].ask(http, { host: gone })).status, 200);
      await agent.session.unbind(id);
      await assert.rejects(both.edges[1].ask(http, { host: gone }), { code: "ERR_SSL_TLSV1_UNRECOGNIZED_NAME" });
    });
  }
});

for (const way of peerWays) {
  describe(`bytes between two edges over ${way}`, { timeout: 60_000 }, () => {
    const { token, object } = newCredential();
    const host = "bytes.example.com";
    let port: number;
    let both: TwoEdges;
    before(async () => {
      port = await freePort();
      both = await startTwoEdges([object], { tcpPorts: { first: port, last: port } }, way);
    });
    after(() => both.stop());

    const tcp = async (serve: (socket: Socket) => void, request: Parameters<TestAgent["bind"]>[0]) => {
      const service = await startTcpService(serve);
      const agent = await connectAgent(both.edges[0], token, service.port, false);
      const bound = await agent.bind(request);
      return { bound, stop: async () => (agent.close(), await service.stop()) };
    };
    const dial = async (localAddress: string): Promise<Socket> => {
      const socket = connectTcp({ port, host: tcpHosts[1], localAddress, allowHalfOpen: true });
      await once(socket, "connect");
      return socket;
    };

    it(`bytes between two edges over ${way} of a TCP connection begin with the PROXY header of the visitor, and end as they end`, async () => {
      const { stop } = await tcp((socket) => socket.pipe(socket), { proto: "tcp", proxyProtocol: 1 });
      const socket = await dial("127.0.0.7");
      socket.end("hello");
      const { text } = await readToEnd(socket);
      assert.match(text, /^PROXY TCP4 127\.0\.0\.7 127\.0\.0\.2 \d+ \d+\r\nhello$/);
      await stop();
    });

    it(`bytes between two edges over ${way} of a TLS connection are ended where the visitor arrived`, async () => {
      const request = { proto: "tls", hostname: host, options: { TLSTermination: {} } } as const;
      const { stop } = await tcp((socket) => socket.pipe(socket), request);
      const socket = await both.edges[1].connect("h1", { host, tls: { ALPNProtocols: [] } });
      socket.end("hello");
      assert.equal((await readToEnd(socket)).text, "hello");
      await stop();
    });

    it(`bytes between two edges over ${way} wait only for the visitor who does not read`, async () => {
      const total = 64 * 1024 * 1024;
      let sent = 0;
      const chunk = Buffer.alloc(64 * 1024);
      const { stop } = await tcp(
        (socket) => {
          const write = (): void => {
            while (sent < total && !socket.destroyed) {
              sent += chunk.length;
              if (!socket.write(chunk)) return void socket.once("drain", write);
            }
          };
          socket.once("data", (asked: Buffer) => (asked.toString() === "all" ? write() : socket.end("little")));
        },
        { proto: "tcp" },
      );
      const stalled = await dial("127.0.0.1");
      stalled.pause();
      stalled.write("all");
      const stillMoves = async (): Promise<boolean> => {
        const before = sent;
        const quick = await dial("127.0.0.1");
        quick.write("some");
        assert.equal((await readToEnd(quick)).text, "little");
        quick.destroy();
        return sent > before || sent === 0;
      };
      let moves = true;
      while (moves) moves = await stillMoves();
      assert.ok(sent < total / 2, `${sent} bytes were taken from the service for nobody`);
      stalled.destroy();
      await stop();
    });

    for (const http of protocols) {
      it(`bytes between two edges over ${way} are a WebSocket's, over ${http}`, async () => {
        const service = await startHttpService(() => {});
        service.server.on("upgrade", (request, socket) => {
          socket.on("error", () => {});
          socket.write(switching(request));
          socket.once("data", () => socket.write(Buffer.from("\x81\x06got it", "latin1")));
        });
        const agent = await connectAgent(both.edges[0], token, service.port);
        const { hostname } = await agent.bind({ hostname: `ws-${http}.example.com` });
        const client = await openWebSocket(
          { connect: (protocol, given) => both.edges[1].connect(protocol, { host: hostname, ...given }) },
          http,
          { host: hostname },
        );
        client.send(opcodes.text, "over there");
        assert.equal((await client.next()).payload.toString(), "got it");
        client.destroy();
        agent.close();
        await service.stop();
      });
    }

    it(`bytes between two edges over ${way} are HTTP/2 where the service speaks nothing else`, async () => {
      const service = createHttp2Server((request, response) => {
        response.end(`${request.httpVersion} ${request.url}`);
      }).listen(0, "127.0.0.1");
      await once(service, "listening");
      const agent = await connectAgent(both.edges[0], token, (service.address() as AddressInfo).port, false);
      const { hostname } = await agent.bind({ hostname: "h2.example.com", forwardsProto: "http2" });
      for (const http of protocols) {
        const answer = await both.edges[1].ask(http, { host: hostname, path: "/there" });
        assert.equal(answer.text, "2.0 /there");
      }
      agent.close();
      await new Promise((done) => service.close(done));
    });

    it(`bytes between two edges over ${way} have passed the endpoint's modules once, at the edge of the visitor`, async () => {
      const service = await startHttpService((request, response) => response.end(String(request.headers["x-seen"])));
      const agent = await connectAgent(both.edges[0], token, service.port);
      const policy = {
        on_http_request: [{ actions: [{ type: "add-headers", config: { headers: { "x-seen": "here" } } }] }],
      };
      const { hostname, id } = await agent.bind({
        hostname: "rules.example.com",
        trafficPolicy: JSON.stringify(policy),
      });
      const ask = async (): Promise<string> => (await both.edges[1].ask("h1", { host: hostname })).text;
      assert.equal(await ask(), "here");
      await agent.session.changePolicy(id, JSON.stringify({ on_http_request: [{ actions: [{ type: "deny" }] }] }));
      assert.equal((await both.edges[1].ask("h1", { host: hostname })).status, 403);
      agent.close();
      await service.stop();
    });
  });
}

describe("an account's connections over two edges", () => {
  it("D2: an account's connections over two edges are bounded at each by its part", async () => {
    const { token, object } = newCredential();
    const both = await startTwoEdges([object], { limits: { connections: { connectionsPerAccount: 4 } } });
    const agent = await connectAgent(both.edges[0], token, 1);
    const { hostname: host } = await agent.bind();
    for (const edge of both.edges) {
      const open = await Promise.all([1, 2, 3].map(() => edge.connect("h1", { host })));
      await assert.rejects(edge.connect("h1", { host }));
      for (const socket of open) socket.destroy();
    }
    agent.close();
    await both.stop();
  });
});
