/** TCP edges: their ports open and close with configuration, and whole connections reach the service. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { readProxyHeader } from "../../src/edge/listeners/proxy-protocol.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { dialPort, freePort, portIs, readToEnd, visit } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { connectionEdge, newCredential, ipPolicy, ipRestriction } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const credential = newCredential();

async function start(objects: Parameters<typeof startTestEdge>[0] = [], options = {}): Promise<TestEdge> {
  const edge = await startTestEdge([credential.object, ...(objects ?? [])], {
    drainMs: 50,
    tcpBind: "127.0.0.1",
    ...options,
  });
  stops.push(() => edge.edge.stop());
  return edge;
}

async function service(serve: (socket: Socket) => void): Promise<TcpService> {
  const started = await startTcpService(serve);
  stops.push(() => started.stop());
  return started;
}

async function agent(edge: TestEdge, port: number): Promise<TestAgent> {
  const connected = await connectAgent(edge, credential.token, port, false);
  stops.push(() => connected.close());
  return connected;
}

async function dial(port: number): Promise<Socket> {
  const socket = await dialPort(port);
  stops.push(() => socket.destroy());
  return socket;
}

function hostport(port: number): string {
  return `db.example.com:${port}`;
}

describe("a TCP edge", { timeout: 30_000 }, () => {
  it("a TCP edge passes bytes both ways, and preserves half-closes", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]));
    const { port: upstream } = await service((socket) => {
      let text = "";
      socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
      socket.on("end", () => socket.end(`got ${text}`));
    });
    await (await agent(edge, upstream)).label({ app: "db" });
    const client = await dial(port);
    const answer = readToEnd(client);
    client.write("one ");
    client.end("two");
    assert.deepEqual(await answer, { text: "got one two", error: undefined });
  });

  it("a TCP edge lets the service send first, and end first", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]));
    const heard = Promise.withResolvers<string>();
    const { port: upstream } = await service((socket) => {
      socket.end("hello");
      void readToEnd(socket).then(({ text }) => heard.resolve(text));
    });
    await (await agent(edge, upstream)).label({ app: "db" });
    const client = await dial(port);
    assert.deepEqual(await readToEnd(client), { text: "hello", error: undefined });
    client.end("goodbye");
    assert.equal(await heard.promise, "goodbye");
  });

  it("a TCP edge passes a cut on as a cut, from either side", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]));
    const upstream = await service((socket) => socket.write("partial"));
    await (await agent(edge, upstream.port)).label({ app: "db" });
    const client = await dial(port);
    await once(client, "data");
    const cut = readToEnd(client);
    upstream.connections[0]?.resetAndDestroy();
    assert.equal((await cut).error, "ECONNRESET");
    const second = await dial(port);
    await once(second, "data");
    const seen = readToEnd(upstream.connections[1] as Socket);
    second.resetAndDestroy();
    assert.equal((await seen).error, "ECONNRESET");
  });

  it("a TCP edge opens, moves and closes its port with its configuration, and does not affect open connections", async () => {
    const [first, second, third] = [await freePort(), await freePort(), await freePort()];
    const [backend, db] = connectionEdge("tcp_edge", "db", [hostport(first)]);
    const edge = await start([backend as never]);
    const echo = await service((socket) => socket.pipe(socket));
    await (await agent(edge, echo.port)).label({ app: "db" });
    await assert.rejects(dial(first));
    edge.put(db as never);
    await portIs("open", first);
    const client = await dial(first);
    client.write("still");
    await once(client, "data");
    edge.put({
      ...(db as NonNullable<typeof db>),
      doc: { ...db?.doc, hostports: [hostport(second), hostport(third)] },
    });
    await Promise.all([portIs("closed", first), portIs("open", second), portIs("open", third)]);
    client.write("here");
    assert.equal(String((await once(client, "data"))[0]), "here");
    edge.remove("tcp_edge", "edg_db");
    await Promise.all([portIs("closed", second), portIs("closed", third)]);
    client.write("even now");
    assert.equal(String((await once(client, "data"))[0]), "even now");
  });

  it("a TCP edge hands a port over from one edge to another within one change", async () => {
    const port = await freePort();
    const objects = [...connectionEdge("tcp_edge", "one", [hostport(port)]), ...connectionEdge("tcp_edge", "two", [])];
    const edge = await start(objects);
    for (const name of ["one", "two"]) {
      const { port: upstream } = await service((socket) => socket.end(name));
      await (await agent(edge, upstream)).label({ app: name });
    }
    await portIs("open", port);
    assert.equal((await visit(port)).text, "one");
    const change = (id: string, hostports: readonly string[]) => {
      const found = objects.find((one) => one.id === id) as (typeof objects)[number];
      const object = { ...found, revision: 2, doc: { ...found.doc, hostports } };
      return { kind: "tcp_edge", id, account_id: "ac_1", object };
    };
    const changes = [change("edg_two", [hostport(port)]), change("edg_one", [])];
    edge.send({ type: "changes", revision: 2, changes });
    assert.equal((await visit(port)).text, "two");
  });

  it("R4: a TCP edge closes denied connections without a byte, and the service receives nothing of them", async () => {
    const port = await freePort();
    const others = ipPolicy("ipp_others", { "192.0.2.0/24": "allow" });
    const edge = await start([
      ...others,
      ...connectionEdge("tcp_edge", "db", [hostport(port)], { ip_restriction: ipRestriction("ipp_others") }),
    ]);
    const speaks = await service((socket) => socket.write("secret"));
    await (await agent(edge, speaks.port)).label({ app: "db" });
    assert.equal((await visit(port, "let me in")).text, "");
    const rule = others[1] as NonNullable<(typeof others)[1]>;
    edge.put({ ...rule, doc: { ...rule.doc, cidr: "127.0.0.0/8" } });
    const admitted = await dial(port);
    assert.equal(String((await once(admitted, "data"))[0]), "secret");
    assert.equal(speaks.connections.length, 1);
  });

  it("a TCP edge admits no one if a module failed to compile", async () => {
    const port = await freePort();
    const edge = await start(
      connectionEdge("tcp_edge", "db", [hostport(port)], {
        ip_restriction: { enabled: true, ip_policy_ids: ["ipp_gone"] },
      }),
    );
    const speaks = await service((socket) => socket.write("secret"));
    await (await agent(edge, speaks.port)).label({ app: "db" });
    assert.equal((await visit(port)).text, "");
    assert.equal(speaks.connections.length, 0);
  });

  it("a TCP edge balances connections over its tunnels, and closes connections when there is no tunnel", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]));
    const agents: TestAgent[] = [];
    const services: TcpService[] = [];
    for (const name of ["one", "two"]) {
      const started = await service((socket) => socket.write(name));
      services.push(started);
      const connected = await agent(edge, started.port);
      agents.push(connected);
      await connected.label({ app: "db", name });
    }
    const clients = await Promise.all(Array.from({ length: 6 }, () => dial(port)));
    await Promise.all(clients.map((client) => once(client, "data")));
    assert.deepEqual(
      services.map(({ connections }) => connections.length),
      [3, 3],
    );
    const cut = clients.map((client) => readToEnd(client));
    for (const one of agents) one.close();
    for (const { error } of await Promise.all(cut)) assert.equal(error, "ECONNRESET");
    assert.equal((await visit(port)).text, "");
  });

  for (const version of [1, 2] as const) {
    it(`a TCP edge writes a PROXY protocol header of version ${version} to a tunnel that requests it`, async () => {
      const port = await freePort();
      const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]));
      const seen = Promise.withResolvers<Buffer>();
      const { port: upstream } = await service((socket) => {
        let all = Buffer.alloc(0);
        socket.on("data", (bytes: Buffer) => (all = Buffer.concat([all, bytes])));
        socket.on("end", () => seen.resolve(all));
      });
      const labelled = await agent(edge, upstream);
      await labelled.session.startLabelled({ labels: { app: "db" }, forwardsTo: "", proxyProtocol: version });
      const client = await dial(port);
      client.end("payload");
      const bytes = await seen.promise;
      const header = readProxyHeader(bytes);
      assert.ok(header.state === "header");
      assert.deepEqual(header.client, { address: "127.0.0.1", port: client.localPort });
      assert.equal(bytes.subarray(header.length).toString(), "payload");
      if (version === 1) {
        assert.equal(
          bytes.subarray(0, header.length).toString(),
          `PROXY TCP4 127.0.0.1 127.0.0.1 ${client.localPort} ${port}\r\n`,
        );
      }
    });
  }

  it("a TCP edge reaches a static backend, and another member of a failover when one refuses", async () => {
    const [port, dead] = [await freePort(), await freePort()];
    const echo = await service((socket) => socket.pipe(socket));
    const address = (id: string, to: number) => ({
      kind: "static_backend",
      id,
      account_id: "ac_1",
      revision: 1,
      doc: { address: `127.0.0.1:${to}`, tls: { enabled: false } },
    });
    await start(
      [
        address("bkdsc_dead", dead),
        address("bkdsc_echo", echo.port),
        {
          kind: "failover_backend",
          id: "bkdfo_1",
          account_id: "ac_1",
          revision: 1,
          doc: { backends: ["bkdsc_dead", "bkdsc_echo"] },
        },
        ...connectionEdge("tcp_edge", "db", [hostport(port)], { backend: { enabled: true, backend_id: "bkdfo_1" } }),
      ],
      { allowLocalUpstreams: true },
    );
    await portIs("open", port);
    const client = await dial(port);
    client.end("ping");
    assert.deepEqual(await readToEnd(client), { text: "ping", error: undefined });
  });

  it("a TCP edge reports a port that is in use, listens once it is free, and clears the problem", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as { port: number };
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]));
    const problem = (cleared: boolean) =>
      edge.report(
        (message) =>
          message.type === "problems" &&
          message.problems.some(
            ({ kind, id, module, message: why }) =>
              kind === "tcp_edge" && id === "edg_db" && module === "listener" && (why === undefined) === cleared,
          ),
      );
    await problem(false);
    await new Promise((done) => holder.close(done));
    await problem(true);
    await portIs("open", port);
  });

  it("D2: a TCP edge accepts no more connections of an account than its limit, and new ones when one ends", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]), {
      limits: { splices: { connectionsPerAccount: 2 } },
    });
    const speaks = await service((socket) => {
      socket.write("hello");
      socket.on("end", () => socket.end());
    });
    await (await agent(edge, speaks.port)).label({ app: "db" });
    const [first, second] = [await dial(port), await dial(port)];
    await Promise.all([once(first, "data"), once(second, "data")]);
    assert.equal((await visit(port)).text, "");
    first.end();
    await readToEnd(first);
    const again = await dial(port);
    assert.equal(String((await once(again, "data"))[0]), "hello");
  });

  it("D2: a TCP edge closes connections on which nothing moves", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]), {
      limits: { splices: { idleTimeoutMs: 1 } },
    });
    const speaks = await service((socket) => socket.write("hello"));
    await (await agent(edge, speaks.port)).label({ app: "db" });
    assert.equal((await readToEnd(await dial(port))).error, "ECONNRESET");
    assert.equal((await readToEnd(speaks.connections[0] as Socket)).error, "ECONNRESET");
  });

  it("D2: a TCP edge closes half-closed connections whose other side is silent", async () => {
    const port = await freePort();
    const edge = await start(connectionEdge("tcp_edge", "db", [hostport(port)]), {
      limits: { splices: { lingerMs: 1 } },
    });
    const silent = await service((socket) => socket.write("hello"));
    await (await agent(edge, silent.port)).label({ app: "db" });
    const client = await dial(port);
    await once(client, "data");
    client.end();
    assert.equal((await readToEnd(client)).error, "ECONNRESET");
  });
});
