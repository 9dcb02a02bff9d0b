/** Several endpoints of one URL: which may share it, and how one of them is selected. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:tls";
import type { ConnectionOptions } from "node:tls";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { freePort, portIs, visit } from "../support/connections.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import { newCredential } from "../support/objects.ts";
import { startHttpService, startTcpService } from "../support/services.ts";

const host = "pool.example.com";
const now = Date.now();
const clients = await createAuthority({ commonName: "Clients", now });
const alice = await issueLeaf(clients, { names: ["alice"], now, days: 1, usages: ["clientAuth"] });

let edge: TestEdge;
/** The next selections; afterwards the first one. */
let choices: number[] = [];
let port: number;
const stops: (() => unknown)[] = [];
/** Forward to services that say so: `a`, `b`, and the same for bare connections. */
const agents: Record<string, TestAgent> = {};

before(async () => {
  port = await freePort();
  const own = newCredential();
  const second = newCredential("cr_2");
  edge = await startTestEdge([own.object, second.object], {
    tcpBind: "127.0.0.1",
    tcpPorts: { first: port, last: port },
    random: () => choices.shift() ?? 0,
  });
  stops.push(() => edge.edge.stop());
  for (const [name, token] of [
    ["a", own.token],
    ["b", second.token],
  ] as const) {
    const http = await startHttpService((_request, response) => response.end(name));
    const bare = await startTcpService((socket) => socket.on("data", () => socket.end(name)));
    agents[name] = await connectAgent(edge, token, http.port);
    agents[`bare ${name}`] = await connectAgent(edge, token, bare.port, false);
    stops.push(
      () => http.stop(),
      () => bare.stop(),
      () => agents[name]?.close(),
      () => agents[`bare ${name}`]?.close(),
    );
  }
});
after(async () => {
  for (const stop of stops.reverse()) await stop();
});
beforeEach(() => void (choices = []));

function agent(name: string): TestAgent {
  return agents[name] as TestAgent;
}

function cloud(id: string, url: string, policy: object, pooling_enabled = true): void {
  const doc = { url, traffic_policy: JSON.stringify(policy), pooling_enabled };
  edge.put({ kind: "cloud_endpoint", id: `ep_${id}`, doc });
}

const says = (body: string) => ({ on_http_request: [{ actions: [{ type: "custom-response", config: { body } }] }] });

/** The response to a TLS client. */
async function say(servername: string, options: ConnectionOptions = {}): Promise<string> {
  const ca = edge.authority.certificatePem;
  const socket = connect({ host: "127.0.0.1", port: edge.edge.https.port, servername, ca, ...options });
  await once(socket, "secureConnect");
  socket.write("hello");
  let text = "";
  for await (const piece of socket) text += String(piece);
  return text;
}

for (const protocol of protocols) {
  describe(`a pool of HTTPS over ${protocol}`, { timeout: 60_000 }, () => {
    const ask = async (wanted: readonly number[], at = host): Promise<string> => {
      choices = [...wanted];
      return (await edge.ask(protocol, { host: at })).body.toString();
    };

    it(`a pool of HTTPS over ${protocol} selects one endpoint at random, which then decides alone`, async () => {
      const one = await agent("a").bind({ hostname: host, pooling: true });
      const policy = JSON.stringify({
        on_http_response: [{ actions: [{ type: "add-headers", config: { headers: { "x-of": "b" } } }] }],
      });
      const two = await agent("b").bind({ hostname: host, pooling: true, trafficPolicy: policy });
      cloud("pool", `https://${host}`, says("cloud"));
      // The first choice is that of the handshake.
      assert.deepEqual(
        [await ask([0, 0]), await ask([0, 0.4]), await ask([0, 0.7]), await ask([0, 0.99])],
        ["cloud", "a", "b", "b"],
      );
      choices = [0, 0.7];
      assert.equal((await edge.ask(protocol, { host })).headers["x-of"], "b");
      choices = [0, 0.4];
      assert.equal((await edge.ask(protocol, { host })).headers["x-of"], undefined);
      await agent("b").session.unbind(two.id);
      assert.deepEqual([await ask([0, 0.4]), await ask([0, 0.99])], ["cloud", "a"]);
      edge.remove("cloud_endpoint", "ep_pool");
      assert.deepEqual([await ask([0, 0]), await ask([0, 0.99])], ["a", "a"]);
      await agent("a").session.unbind(one.id);
      await assert.rejects(edge.ask(protocol, { host }));
    });

    it(`a pool of HTTPS over ${protocol} may consist of cloud endpoints only, or of one that returns`, async () => {
      cloud("one", "https://clouds.example.com", says("one"));
      cloud("two", "https://clouds.example.com", says("two"));
      assert.deepEqual(
        [await ask([0, 0], "clouds.example.com"), await ask([0, 0.9], "clouds.example.com")],
        ["one", "two"],
      );
      edge.remove("cloud_endpoint", "ep_one");
      assert.equal(await ask([0, 0], "clouds.example.com"), "two");
      cloud("one", "https://clouds.example.com", says("three"));
      assert.equal(await ask([0, 0.9], "clouds.example.com"), "three");
      for (const id of ["ep_one", "ep_two"]) edge.remove("cloud_endpoint", id);
    });

    it(`K2: a pool of HTTPS over ${protocol} whose endpoints demand different handshakes serves each connection under the one that it had`, async () => {
      const option = { MutualTLSCA: { mutual_tls_ca: Buffer.from(clients.certificatePem).toString("base64") } };
      const one = await agent("a").bind({ hostname: host, pooling: true, options: option });
      const two = await agent("b").bind({ hostname: host, pooling: true });
      const tls = { cert: alice.certificatePem, key: alice.keyPem };
      // Selected for the handshake: the endpoint that requests a certificate. Requests then lead only to that endpoint.
      for (const choice of [0, 0.9]) {
        choices = [0, choice];
        assert.equal((await edge.ask(protocol, { host, tls })).body.toString(), "a");
      }
      choices = [0, 0];
      await assert.rejects(edge.ask(protocol, { host }));
      for (const choice of [0, 0.9]) {
        choices = [0.9, choice];
        assert.equal((await edge.ask(protocol, { host })).body.toString(), "b");
      }
      await agent("a").session.unbind(one.id);
      await agent("b").session.unbind(two.id);
    });

    it(`a pool of HTTPS over ${protocol} may be internal, and is chosen from by each request that is forwarded`, async () => {
      const one = await agent("a").bind({ hostname: "pool.internal", pooling: true });
      cloud("inner", "https://pool.internal", says("inner"));
      cloud(
        "outer",
        "https://outer.example.com",
        {
          on_http_request: [{ actions: [{ type: "forward-internal", config: { url: "https://pool.internal" } }] }],
        },
        false,
      );
      const seen = new Set<string>();
      for (const choice of [0, 0.9]) {
        choices = [choice, choice, choice, choice];
        seen.add((await edge.ask(protocol, { host: "outer.example.com" })).body.toString());
      }
      assert.deepEqual([...seen].sort(), ["a", "inner"]);
      for (const id of ["ep_inner", "ep_outer"]) edge.remove("cloud_endpoint", id);
      await agent("a").session.unbind(one.id);
    });
  });
}

describe("a pool of whole connections", { timeout: 60_000 }, () => {
  it("a pool of TLS has one of its endpoints chosen for each connection", async () => {
    const trafficPolicy = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: "terminate-tls" }] }] });
    const one = await agent("bare a").bind({ proto: "tls", hostname: host, pooling: true, trafficPolicy });
    const two = await agent("bare b").bind({ proto: "tls", hostname: host, pooling: true, trafficPolicy });
    const heard: string[] = [];
    for (const choice of [0, 0.9, 0]) {
      choices = [choice];
      heard.push(await say(host));
    }
    assert.deepEqual(heard, ["a", "b", "a"]);
    await agent("bare a").session.unbind(one.id);
    choices = [0];
    assert.equal(await say(host), "b");
    await agent("bare b").session.unbind(two.id);
  });

  it("a pool of TCP has one of its endpoints chosen for each connection, of agents and of configuration", async () => {
    const address = `apps.example.com:${port}`;
    const one = await agent("bare a").bind({ proto: "tcp", address, pooling: true });
    const two = await agent("bare b").bind({ proto: "tcp", address, pooling: true });
    await portIs("open", port);
    const heard: string[] = [];
    for (const choice of [0, 0.9]) {
      choices = [choice];
      heard.push((await visit(port, "hello")).text);
    }
    assert.deepEqual(heard, ["a", "b"]);
    cloud("tcp", `tcp://${address}`, { on_tcp_connect: [{ actions: [{ type: "deny" }] }] });
    choices = [0];
    assert.equal((await visit(port, "hello")).text, "");
    choices = [0.5];
    assert.equal((await visit(port, "hello")).text, "a");
    await agent("bare a").session.unbind(one.id);
    await agent("bare b").session.unbind(two.id);
    edge.remove("cloud_endpoint", "ep_tcp");
    await portIs("closed", port);
  });
});

describe("endpoints of one URL", { timeout: 60_000 }, () => {
  const code = { reason: "agent_name_taken" };

  it("endpoints of one URL share it only if each of them allows it", async () => {
    const alone = await agent("a").bind({ hostname: host });
    await assert.rejects(agent("b").bind({ hostname: host, pooling: true }), /each requests pooling/);
    await agent("a").session.unbind(alone.id);
    const pooled = await agent("a").bind({ hostname: host, pooling: true });
    await assert.rejects(agent("b").bind({ hostname: host }), code);
    await assert.rejects(agent("b").bind({ proto: "tls", hostname: host, pooling: true }), code);
    await agent("a").session.unbind(pooled.id);
    assert.match(errorCode("agent_name_taken"), /334$/);
  });

  it("endpoints of one URL that are configured leave it to agents only if both are pooled, inside and outside", async () => {
    for (const name of [host, "pool.internal"]) {
      cloud("alone", `https://${name}`, says("cloud"), false);
      for (const pooling of [true, false]) await assert.rejects(agent("a").bind({ hostname: name, pooling }), code);
      cloud("alone", `https://${name}`, says("cloud"));
      await assert.rejects(agent("a").bind({ hostname: name }), code);
      const bound = await agent("a").bind({ hostname: name, pooling: true });
      await agent("a").session.unbind(bound.id);
    }
    edge.remove("cloud_endpoint", "ep_alone");
  });
});
