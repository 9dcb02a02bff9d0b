/** A PROXY protocol header on http tunnels: every stream begins with it, and carries its client's requests alone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
let agent: TestAgent;
let service: Server;
/** Bytes of each connection to the service, in the order in which they were opened. */
let connections: string[] = [];
const sockets = new Set<Socket>();

before(async () => {
  fixture = await startEdgeWithAgent({ trustedForwarders: ["127.0.0.2/32"] });
  service = createServer((socket) => {
    sockets.add(socket);
    const index = connections.push("") - 1;
    let answered = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      connections[index] += bytes.toString("latin1");
      const requests = connections[index]?.match(/\r\n\r\n(?!\0)/g)?.length ?? 0;
      for (; answered < requests; answered += 1) {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n#${index}`);
      }
    });
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  agent = await connectAgent(fixture.edge, fixture.token, (service.address() as AddressInfo).port);
});
after(async () => {
  agent.close();
  for (const socket of sockets) socket.destroy();
  service.close();
  await fixture.stop();
});

interface Visitor {
  ask(headers?: Readonly<Record<string, string>>): Promise<string>;
  readonly port: number;
  close(): void;
}

/** A client that stays on one connection. */
async function visit(protocol: Protocol, name: string, source: string): Promise<Visitor> {
  const socket: TLSSocket = await fixture.connect(protocol, { host: name, source });
  const port = socket.localPort as number;
  if (protocol === "h2") {
    const session: ClientHttp2Session = connectHttp2(`https://${name}`, { createConnection: () => socket });
    return {
      port,
      async ask(headers = {}) {
        const stream = session.request({ ":path": "/", ":authority": name, ...headers });
        let body = "";
        stream.setEncoding("utf8").on("data", (text: string) => (body += text));
        await once(stream, "end");
        return body;
      },
      close: () => session.destroy(),
    };
  }
  return {
    port,
    async ask(headers = {}) {
      const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`);
      socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\n${lines.join("")}\r\n`);
      let text = "";
      while (!/\r\n\r\n#\d+$/.test(text)) text += String(((await once(socket, "data")) as [Buffer])[0]);
      return text.slice(text.indexOf("\r\n\r\n") + 4);
    },
    close: () => socket.destroy(),
  };
}

for (const protocol of protocols) {
  describe(`the PROXY header on an http tunnel over ${protocol}`, () => {
    before(() => (connections = []));

    it(`the PROXY header on an http tunnel over ${protocol} begins every stream with the client's address, version 1 or 2, and then HTTP`, async () => {
      const name = `one-${protocol}.apps.example.com`;
      const { id } = await agent.bind({ hostname: name, proxyProtocol: 1 });
      const visitor = await visit(protocol, name, "127.0.0.7");
      assert.equal(await visitor.ask(), "#0");
      const line = `PROXY TCP4 127.0.0.7 127.0.0.1 ${visitor.port} ${fixture.edge.edge.https.port}\r\n`;
      assert.ok(connections[0]?.startsWith(`${line}GET / HTTP/1.1\r\n`), String(connections[0]));
      assert.match(connections[0] ?? "", /\r\nX-Forwarded-For: 127\.0\.0\.7\r\n/);
      visitor.close();
      await agent.session.unbind(id);

      await agent.bind({ hostname: name, proxyProtocol: 2 });
      const other = await visit(protocol, name, "127.0.0.7");
      assert.equal(await other.ask(), "#1");
      const head = Buffer.from(connections[1] ?? "", "latin1");
      assert.equal(head.toString("latin1", 0, 16), "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c");
      assert.deepEqual([...head.subarray(16, 24)], [127, 0, 0, 7, 127, 0, 0, 1]);
      assert.equal(head.readUInt16BE(24), other.port);
      assert.equal(head.toString("latin1", 28, 44), "GET / HTTP/1.1\r\n");
      other.close();
    });

    it(`R3: the PROXY header on an http tunnel over ${protocol} separates each client's streams, which only that client reuses`, async () => {
      connections = [];
      const name = `own-${protocol}.apps.example.com`;
      await agent.bind({ hostname: name, proxyProtocol: 1 });
      const one = await visit(protocol, name, "127.0.0.7");
      const two = await visit(protocol, name, "127.0.0.8");
      assert.equal(await one.ask(), "#0");
      assert.equal(await two.ask(), "#1");
      assert.equal(await one.ask(), "#0");
      assert.equal(await two.ask(), "#1");
      const asked = protocol === "h2" ? [one, two, one, two] : [one, two];
      await Promise.all(asked.map((visitor) => visitor.ask()));
      for (const text of connections) {
        const [, source] = /^PROXY TCP4 (\S+) /.exec(text) ?? [];
        const told = new Set(Array.from(text.matchAll(/\r\nX-Forwarded-For: (\S+)\r\n/g), ([, from]) => from));
        assert.deepEqual([...told], [source]);
        assert.equal(text.match(/PROXY/g)?.length, 1);
      }
      one.close();
      two.close();
    });

    it(`R3: the PROXY header on an http tunnel over ${protocol} names the client of a trusted forwarder, request by request`, async () => {
      connections = [];
      const name = `forwarded-${protocol}.apps.example.com`;
      await agent.bind({ hostname: name, proxyProtocol: 1 });
      const proxy = await visit(protocol, name, "127.0.0.2");
      assert.equal(await proxy.ask({ "x-forwarded-for": "192.0.2.1" }), "#0");
      assert.equal(await proxy.ask({ "x-forwarded-for": "2001:db8::7" }), "#1");
      assert.equal(await proxy.ask({ "x-forwarded-for": "192.0.2.1" }), "#0");
      assert.match(connections[0] ?? "", /^PROXY TCP4 192\.0\.2\.1 127\.0\.0\.1 0 \d+\r\n/);
      assert.match(connections[1] ?? "", /^PROXY TCP6 2001:db8::7 ::ffff:127\.0\.0\.1 0 \d+\r\n/);
      proxy.close();
    });

    it(`the PROXY header on an http tunnel over ${protocol} is written for labelled tunnels behind HTTPS edges too`, async () => {
      connections = [];
      const labels = { app: `labelled-${protocol}` };
      await agent.session.startLabelled({ labels, forwardsTo: "x", proxyProtocol: 1 });
      fixture.put("tunnel_group_backend", "bkdtg_proxied", { labels });
      fixture.route({ backend: { enabled: true, backend_id: "bkdtg_proxied" } });
      const visitor = await visit(protocol, host, "127.0.0.7");
      assert.equal(await visitor.ask(), "#0");
      assert.match(connections[0] ?? "", /^PROXY TCP4 127\.0\.0\.7 127\.0\.0\.1 \d+ \d+\r\nGET \/ HTTP\/1\.1\r\n/);
      visitor.close();
    });
  });
}
