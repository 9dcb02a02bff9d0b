/** Endpoints that agents publish at a wildcard: which hosts they serve, and who may have one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:tls";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { request as requestHttp } from "../../src/lib/http.ts";
import { issueLeaf } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { makeManualClock } from "../support/clock.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { seededRandom } from "../support/random.ts";
import { startSdk } from "../support/sdk-process.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { startTwoEdges } from "../support/two-edges.ts";

const own = newCredential();
const otherToken = newCredential("cr_other");
const other = { token: otherToken.token, object: { ...otherToken.object, account_id: "ac_other" } };
const wildcard = "*.app.example.net";
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

function reserved(domain: string, account_id = "ac_1", id = `rd_${account_id}_${domain}`) {
  return { kind: "reserved_domain", id, account_id, revision: 1, doc: { domain } };
}

describe("an agent's wildcard endpoint", { timeout: 60_000 }, () => {
  let services: readonly [HttpService, HttpService];
  before(async () => {
    const start = (name: string): Promise<HttpService> =>
      startHttpService((request, response) => response.end(`${name} ${request.headers.host}`));
    services = [await start("one"), await start("two")];
  });
  after(() => Promise.all(services.map((service) => service.stop())));

  const start = async (
    objects: Parameters<typeof startTestEdge>[0] = [reserved(wildcard)],
    options: Parameters<typeof startTestEdge>[1] = {},
  ): Promise<TestEdge> => {
    const edge = await startTestEdge([own.object, other.object, ...(objects ?? [])], { drainMs: 0, ...options });
    stops.push(() => edge.edge.stop());
    return edge;
  };
  const agent = async (edge: TestEdge, token = own.token, service = services[0]): Promise<TestAgent> => {
    const connected = await connectAgent(edge, token, service.port);
    stops.push(() => connected.close());
    return connected;
  };
  const status = async (edge: TestEdge, host: string): Promise<number | string> => {
    const { status: code, text } = await edge.ask("h1", { host });
    return code === 200 ? text : code;
  };
  const plain = async (edge: TestEdge, host: string): Promise<string> => {
    const port = edge.edge.http?.port ?? 0;
    const outgoing = requestHttp({ host: "127.0.0.1", port, path: "/", agent: false, headers: { host } });
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
    return response.statusCode === 200 ? text : String(response.statusCode);
  };
  const refusedBind = (reason: string, message: RegExp) => (error: unknown) => {
    assert.equal((error as { reason: string }).reason, reason);
    assert.match((error as Error).message, message);
    return true;
  };

  for (const protocol of protocols) {
    it(`an agent's wildcard endpoint serves every name one label below it, over ${protocol}`, async () => {
      const edge = await start();
      const connected = await agent(edge);
      const { url, hostname } = await connected.bind({ hostname: "*.App.Example.net." });
      assert.deepEqual([url, hostname], [`https://${wildcard}:${edge.edge.https.port}`, wildcard]);
      for (const host of ["a.app.example.net", "b.app.example.net", "xn--bcher-kva.app.example.net"]) {
        const answer = await edge.ask(protocol, { host });
        assert.deepEqual([answer.status, answer.text], [200, `one ${host}`]);
      }
      for (const host of ["app.example.net", "a.b.app.example.net", "other.example.net"]) {
        await assert.rejects(edge.ask(protocol, { host }), host);
      }
    });
  }

  it("an agent's wildcard endpoint has one certificate of the server's own for all its names", async () => {
    const edge = await start();
    const connected = await agent(edge);
    await connected.bind({ hostname: wildcard });
    const shown = async (host: string) => {
      const socket = await edge.connect("h1", { host });
      const { subjectaltname, fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return { subjectaltname, fingerprint256 };
    };
    const first = await shown("a.app.example.net");
    assert.equal(first.subjectaltname, `DNS:${wildcard}`);
    assert.deepEqual(await shown("b.app.example.net"), first);
  });

  it("an agent's wildcard endpoint at an http:// address serves its names without TLS, and does not serve names with their own endpoint", async () => {
    const edge = await start();
    const connected = await agent(edge);
    await connected.bind({ proto: "http", hostname: wildcard });
    assert.equal(await plain(edge, "a.app.example.net"), "one a.app.example.net");
    assert.equal(await plain(edge, "app.example.net"), "308");
    assert.equal(await plain(edge, "a.b.app.example.net"), "308");
    const specific = await connected.bind({ hostname: "a.app.example.net" });
    assert.equal(await plain(edge, "a.app.example.net"), "308");
    await connected.session.unbind(specific.id);
    assert.equal(await plain(edge, "a.app.example.net"), "one a.app.example.net");
    for (const object of httpsEdge("exact", ["a.app.example.net"])) edge.put(object);
    assert.equal(await plain(edge, "a.app.example.net"), "308");
    assert.equal(await plain(edge, "b.app.example.net"), "one b.app.example.net");
  });

  it("an agent's wildcard tls endpoint passes connections of its names through", async () => {
    const edge = await start();
    const leaf = await issueLeaf(edge.authority, { names: [wildcard], now: Date.now(), days: 5 });
    const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (socket) => {
      socket.end(`hello ${String(socket.servername)}`);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    stops.push(() => server.close());
    const connected = await connectAgent(edge, own.token, (server.address() as AddressInfo).port, false);
    stops.push(() => connected.close());
    await connected.bind({ proto: "tls", hostname: wildcard });
    const socket = await edge.connect("h1", { host: "db.app.example.net" });
    const [text] = (await once(socket.setEncoding("utf8"), "data")) as [string];
    assert.equal(text, "hello db.app.example.net");
    await assert.rejects(edge.connect("h1", { host: "x.db.app.example.net" }));
  });

  it("R5: an agent's wildcard endpoint gives way to a specific name of its account, and serves it again afterwards", async () => {
    const edge = await start([reserved(wildcard), ...httpsEdge("above", ["*.example.net"])]);
    const [wide, narrow] = [await agent(edge), await agent(edge, own.token, services[1])];
    assert.equal(await status(edge, "a.app.example.net"), 503);
    await wide.bind({ hostname: wildcard });
    assert.equal(await status(edge, "a.app.example.net"), "one a.app.example.net");
    const { id } = await narrow.bind({ hostname: "a.app.example.net" });
    assert.equal(await status(edge, "a.app.example.net"), "two a.app.example.net");
    assert.equal(await status(edge, "b.app.example.net"), "one b.app.example.net");
    await narrow.session.unbind(id);
    assert.equal(await status(edge, "a.app.example.net"), "one a.app.example.net");
    for (const object of httpsEdge("exact", ["a.app.example.net"])) edge.put(object);
    assert.equal(await status(edge, "a.app.example.net"), 503);
    assert.deepEqual(wide.stopped, []);
  });

  it("R5: an agent's wildcard endpoint is refused where an edge has the same wildcard, and ends when one gets it", async () => {
    const clock = makeManualClock();
    const edge = await start([reserved(wildcard), ...httpsEdge("same", ["*.same.example.net"])], { clock });
    const connected = await agent(edge);
    await assert.rejects(
      connected.bind({ hostname: "*.same.example.net" }),
      refusedBind("agent_name_taken", /the edge "edghts_same" serves it/),
    );
    const { id } = await connected.bind({ hostname: wildcard });
    for (const object of httpsEdge("late", [wildcard])) edge.put(object);
    assert.equal(await status(edge, "a.app.example.net"), 503);
    clock.pass(300);
    await connected.session.unbind("tn_none");
    assert.deepEqual(connected.stopped, [`${id} ERR_NGROK_334`]);
  });

  it("R5: an agent's wildcard endpoint needs a reservation of its account, and ends with it", async () => {
    const clock = makeManualClock();
    const edge = await start([], { clock });
    const connected = await agent(edge);
    const missing = refusedBind("agent_name_taken", /POST \/reserved_domains '\{"domain":"\*\.app\.example\.net"\}'/);
    await assert.rejects(connected.bind({ hostname: wildcard }), missing);
    // A reservation of one name does not cover the names below it.
    edge.put(reserved("app.example.net"));
    await assert.rejects(connected.bind({ hostname: wildcard }), missing);
    const reservation = reserved("*.example.net");
    edge.put(reservation);
    const { id } = await connected.bind({ hostname: wildcard });
    assert.equal(await status(edge, "a.app.example.net"), "one a.app.example.net");
    edge.remove("reserved_domain", reservation.id);
    // Nothing is served before its tunnel is stopped.
    await assert.rejects(edge.ask("h1", { host: "a.app.example.net" }));
    clock.pass(300);
    await connected.session.unbind("tn_none");
    assert.deepEqual(connected.stopped, [`${id} ERR_NGROK_334`]);
  });

  it("R5: an agent's wildcard endpoint never serves a name of another account, and no other account gets a name below it", async () => {
    const edge = await start([]);
    const stranger = await agent(edge, other.token, services[1]);
    const early = await stranger.bind({ hostname: "early.app.example.net" });
    edge.put(reserved(wildcard));
    const connected = await agent(edge);
    await connected.bind({ hostname: wildcard });
    await connected.bind({ proto: "http", hostname: wildcard });
    assert.equal(await status(edge, "early.app.example.net"), "two early.app.example.net");
    assert.equal(await plain(edge, "early.app.example.net"), "308");
    for (const hostname of [
      "a.app.example.net",
      "A.APP.example.NET.",
      wildcard,
      "*.a.app.example.net",
      "x.y.app.example.net",
    ]) {
      for (const proto of ["https", "http", "tls"] as const) {
        await assert.rejects(
          stranger.bind({ proto, hostname }),
          refusedBind("agent_name_taken", /not available/),
          hostname,
        );
      }
    }
    await stranger.session.unbind(early.id);
    await assert.rejects(
      stranger.bind({ hostname: "early.app.example.net" }),
      refusedBind("agent_name_taken", /not available/),
    );
    // Two reservations that were stored before they were compared.
    edge.put(reserved("theirs.app.example.net", "ac_other"));
    await assert.rejects(edge.ask("h1", { host: "theirs.app.example.net" }));
    assert.equal(await plain(edge, "theirs.app.example.net"), "308");
  });

  it("an agent's wildcard endpoint is refused for names that are not a wildcard of its account", async () => {
    const edge = await start([reserved(wildcard), reserved("*.team.apps.example.com")]);
    const connected = await agent(edge);
    const noName = [
      "a.*.example.net",
      "*.*.example.net",
      "*app.example.net",
      "a*.example.net",
      "*",
      "*.",
      "**.example.net",
    ];
    for (const hostname of [...noName, "*.app_.example.net", "*.bücher.example.net", "*.127.0.0.1"]) {
      await assert.rejects(
        connected.bind({ hostname }),
        refusedBind("agent_request_invalid", /it is not a host name/),
        hostname,
      );
    }
    for (const hostname of ["*.net", "*.co.uk", "*.example.net", "*.github.io", "*.localhost"]) {
      await assert.rejects(connected.bind({ hostname }), refusedBind("agent_name_taken", /reserve it/), hostname);
    }
    for (const hostname of ["*.apps.example.com", "*.example.com", "*.com", "*.idp.apps.example.com"]) {
      await assert.rejects(
        connected.bind({ hostname }),
        refusedBind("agent_name_taken", /the server uses it/),
        hostname,
      );
    }
    await assert.rejects(connected.bind({ subdomain: "*" }), refusedBind("agent_name_taken", /the server uses it/));
    const below = await connected.bind({ subdomain: "*.team" });
    assert.equal(below.hostname, "*.team.apps.example.com");
    assert.equal(await status(edge, "a.team.apps.example.com"), "one a.team.apps.example.com");
  });

  it("G2: an agent's wildcard endpoint needs a rule of the token's ACL that allows all of its names", async () => {
    const limited = (...acl: string[]) => ({ ...own.object, doc: { ...own.object.doc, acl } });
    const edge = await start([reserved("*.example.net")]);
    const connected = await agent(edge);
    for (const rule of [
      "bind:a.app.example.net",
      "bind:app.example.net",
      "bind:*.example.net",
      "bind:a*.app.example.net",
    ]) {
      edge.put(limited(rule));
      await assert.rejects(connected.bind({ hostname: wildcard }), refusedBind("agent_denied", /ACL/), rule);
    }
    edge.put(limited("bind:*.app.example.net"));
    const { id } = await connected.bind({ hostname: wildcard });
    assert.equal(await status(edge, "a.app.example.net"), "one a.app.example.net");
    edge.put(limited("bind:a.app.example.net"));
    await connected.session.unbind("tn_none");
    assert.deepEqual(connected.stopped, [`${id} ERR_NGROK_720`]);
  });

  it("an agent's wildcard endpoint is shared by agents that allow pooling", async () => {
    const edge = await start();
    for (const service of services)
      await (await agent(edge, own.token, service)).bind({ hostname: wildcard, pooling: true });
    const seen = new Set<number | string>();
    for (let count = 0; count < 200 && seen.size < 2; count += 1) seen.add(await status(edge, "a.app.example.net"));
    assert.deepEqual(seen, new Set(["one a.app.example.net", "two a.app.example.net"]));
  });

  it("the public SDK publishes a wildcard endpoint", async () => {
    const edge = await start();
    const sdk = await startSdk();
    stops.push(() => sdk.stop());
    await sdk.ask({ name: "connect", port: edge.edge.agent.port, ca: edge.authority.certificatePem, token: own.token });
    const { url } = await sdk.ask({ name: "http", domain: wildcard, target: services[0].port });
    assert.equal(url, `https://${wildcard}:${edge.edge.https.port}`);
    assert.equal(await status(edge, "sdk.app.example.net"), "one sdk.app.example.net");
  });

  it("an agent's wildcard endpoint at one edge serves visitors of the other, and its name is one agent's", async () => {
    const both = await startTwoEdges([own.object, other.object, reserved(wildcard)]);
    stops.push(() => both.stop());
    const holder = await connectAgent(both.edges[0], own.token, services[0].port);
    stops.push(() => holder.close());
    const { id } = await holder.bind({ hostname: wildcard });
    for (const edge of both.edges) {
      assert.equal(await status(edge, "a.app.example.net"), "one a.app.example.net");
      await assert.rejects(edge.ask("h1", { host: "x.a.app.example.net" }));
    }
    const narrow = await connectAgent(both.edges[1], own.token, services[1].port);
    stops.push(() => narrow.close());
    await assert.rejects(narrow.bind({ hostname: wildcard }), refusedBind("agent_name_taken", /serves it/));
    const specific = await narrow.bind({ hostname: "a.app.example.net" });
    for (const edge of both.edges) {
      assert.equal(await status(edge, "a.app.example.net"), "two a.app.example.net");
      assert.equal(await status(edge, "b.app.example.net"), "one b.app.example.net");
    }
    await narrow.session.unbind(specific.id);
    const stranger = await connectAgent(both.edges[1], other.token, services[1].port);
    stops.push(() => stranger.close());
    for (const hostname of [wildcard, "a.app.example.net"]) {
      await assert.rejects(stranger.bind({ hostname }), refusedBind("agent_name_taken", /not available/), hostname);
    }
    await holder.session.unbind(id);
    const moved = await narrow.bind({ hostname: wildcard });
    assert.equal(moved.hostname, wildcard);
    for (const edge of both.edges) assert.equal(await status(edge, "a.app.example.net"), "two a.app.example.net");
  });

  it("R5: random claims of names and wildcards by two accounts are served by their holders", async () => {
    const random = seededRandom(38);
    const edge = await start([]);
    const accounts = ["ac_1", "ac_other"] as const;
    const agents = [await agent(edge), await agent(edge, other.token, services[1])] as const;
    const zones = ["m.example.net", "n.example.net", "x.m.example.net"];
    const hosts = zones.flatMap((zone) => ["a", "b", "x"].map((label) => `${label}.${zone}`));
    const wildcards = zones.map((zone) => `*.${zone}`);
    const names = [...hosts, ...wildcards, ...wildcards, ...wildcards];
    const held = new Map<string, { readonly account: 0 | 1; readonly id: string }>();
    const last = new Map<string, 0 | 1>();
    const domains = new Map<string, 0 | 1>();
    const covers = (pattern: string, name: string): boolean =>
      pattern === name || (pattern.startsWith("*.") && name.endsWith(pattern.slice(1)));
    const overlaps = (one: string, two: string): boolean => covers(one, two) || covers(two, one);
    const holderOf = (name: string): 0 | 1 | undefined =>
      [...domains]
        .filter(([domain]) => covers(domain, name))
        .sort(
          ([one], [two]) => Number(one.startsWith("*")) - Number(two.startsWith("*")) || two.length - one.length,
        )[0]?.[1];
    const mayBind = (name: string, account: 0 | 1): boolean => {
      const holder = holderOf(name);
      if (held.has(name) || (holder !== undefined && holder !== account)) return false;
      if (name.startsWith("*.") && holder === undefined) return false;
      return (last.get(name) ?? account) === account;
    };
    const expected = (host: string): string | undefined => {
      const exact = held.get(host);
      const wide = held.get(host.replace(/^[^.]*/, "*"));
      if (exact) return `${["one", "two"][exact.account]} ${host}`;
      return wide && holderOf(host) === wide.account ? `${["one", "two"][wide.account]} ${host}` : undefined;
    };
    let [granted, refusals, wide] = [0, 0, 0];
    for (let step = 0; step < 600; step += 1) {
      const account = random.below(2) as 0 | 1;
      const name = random.pick(names);
      const mine = held.get(name);
      const action = random.below(10);
      if (action < 2) {
        const isForeign = [...domains].some(([domain, by]) => by !== account && overlaps(domain, name));
        // The control plane refuses a name that an agent of another account serves.
        if (domains.has(name) || isForeign || (held.get(name)?.account ?? account) !== account) continue;
        domains.set(name, account);
        edge.put(reserved(name, accounts[account]));
      } else if (action === 2 && step % 5 === 0) {
        const by = domains.get(name);
        const uses = [...held.keys()].some((one) => one.startsWith("*") && covers(name, one));
        if (by === undefined || uses) continue;
        domains.delete(name);
        edge.remove("reserved_domain", reserved(name, accounts[by]).id);
      } else if (action < 5 && mine) {
        await agents[mine.account].session.unbind(mine.id);
        held.delete(name);
        last.set(name, mine.account);
      } else if (action >= 5) {
        const isExpected = mayBind(name, account);
        const bound = await agents[account].bind({ hostname: name }).catch(() => undefined);
        assert.equal(bound !== undefined, isExpected, `step ${step}: ${accounts[account]} binds ${name}`);
        if (bound) held.set(name, { account, id: bound.id });
        if (bound) granted += 1;
        else refusals += 1;
      }
      const host = random.pick(hosts);
      const answer = await edge.ask("h1", { host }).then(
        ({ text }) => text,
        () => undefined,
      );
      assert.equal(answer, expected(host), `step ${step}: ${host}`);
      if (answer !== undefined && !held.has(host)) wide += 1;
    }
    assert.ok(granted > 40 && refusals > 40 && wide > 20, `${granted} ${refusals} ${wide}`);
  });
});
