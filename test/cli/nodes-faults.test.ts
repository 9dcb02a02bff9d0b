/** Servers on one database of which one differs: its clock is wrong, it is cut off, it is suspended, or it is newer. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as requestHttps } from "node:https";
import type { IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { storedKinds } from "../../src/storage/opening/stored-kinds.ts";
import { open } from "../storage/fixture.ts";
import { freePort } from "../support/connections.ts";
import { protocols } from "../support/http-client.ts";
import { sealingKey, startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const single = { connections: 1 } as const;

/** A relay that forwards connections until it is cut, and again after it is restored. */
interface Way {
  cut(): void;
  mend(): void;
  stop(): void;
}

describe("servers on one database", { skip: skipWithoutPostgres, timeout: 120_000 }, () => {
  let place: Awaited<ReturnType<NonNullable<typeof postgres>["create"]>>;
  /** The second server's clock is ahead. The third is reached through a relay that the test can cut. */
  let nodes: readonly [ServerNode, ServerNode, ServerNode];
  let service: HttpService;
  let way: Way;

  /** Returns the first 200 response of the node. Retries while no agent serves the URL there. */
  const answered = async (node: ServerNode, host: string): Promise<string> => {
    for (;;) {
      const answer = await node.ask("h1", { host }).catch(() => undefined);
      if (answer?.status === 200) return answer.text;
      await new Promise((resume) => setTimeout(resume, 10));
    }
  };
  const tunnelsAt = async (node: ServerNode): Promise<readonly { readonly id: string }[]> =>
    (await node.call("GET", "/tunnels")).body["tunnels"] as readonly { readonly id: string }[];

  before(async () => {
    place = await (postgres as NonNullable<typeof postgres>).create();
    const port = await freePort();
    way = await startWay({ host: "127.0.0.5", port }, { host: "127.0.0.4", port });
    const late = `--import ${new URL("../support/late-clock.ts", import.meta.url).href}`;
    nodes = await Promise.all([
      startNode(place.url),
      startNode(place.url, { NODE_OPTIONS: late }),
      startNode(place.url, { POSTERN_PEER_LISTEN: `127.0.0.4:${port}`, POSTERN_PEER_ADDRESS: "127.0.0.5" }),
    ]);
    service = await startHttpService((_request, response) => response.end("served"));
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.end("SIGKILL")));
    way.stop();
    await service.stop();
    await place.drop();
  });

  it("servers on one database, one with a clock ten minutes ahead, count on each other and serve each other's agents", async () => {
    const [first, ahead] = nodes;
    const { body } = await ahead.until("/nodes", (reply) => (reply.body["nodes"] as readonly unknown[]).length === 3);
    for (const { lease } of body["nodes"] as readonly { readonly lease: string }[]) assert.equal(lease, "held");
    const written = await ahead.call("POST", "/ip_policies", { description: "ahead" }, { prefer: "wait=10" });
    const since = Date.parse(String(written.body["created_at"])) - Date.now();
    assert.ok(since > 9 * 60 * 1000, "its clock is not ahead");
    assert.equal(written.headers.get("postern-applied"), "true", written.text);
    for (const [at, node] of [first, ahead].entries()) {
      const host = `clock-${at}.example.com`;
      const agent = await node.agent({ upstream: service.port, url: `https://${host}`, agent: single });
      for (const visited of nodes) {
        for (const http of protocols) assert.equal((await visited.ask(http, { host })).text, "served");
      }
      await agent.close();
    }
    assert.match((await ahead.call("GET", "/metrics")).text, /^postern_node_lease 1$/m);
  });

  it("servers on one database, one unreachable for the others, serve all but its agents, and those after it is reachable", async () => {
    const [first, , far] = nodes;
    const [there, here] = ["cut-there.example.com", "cut-here.example.com"];
    const agents = [
      await far.agent({ upstream: service.port, url: `https://${there}`, agent: single }),
      await first.agent({ upstream: service.port, url: `https://${here}`, agent: single }),
    ];
    assert.equal((await first.ask("h1", { host: there })).text, "served");
    way.cut();
    for (const http of protocols) {
      assert.ok((await first.ask(http, { host: there })).status >= 502);
      assert.equal((await far.ask(http, { host: there })).text, "served");
      assert.equal((await far.ask(http, { host: here })).text, "served");
    }
    // No server is considered dead: the unreachable one writes and is listed.
    const written = await far.call("POST", "/ip_policies", { description: "from there" });
    assert.equal(written.status, 201);
    await first.until(`/ip_policies/${String(written.body["id"])}`, ({ status }) => status === 200);
    assert.equal((await tunnelsAt(first)).length, 2);
    way.mend();
    assert.equal(await answered(first, there), "served");
    for (const agent of agents) await agent.close();
  });

  it("servers on one database: an upload to another server's agent that reads nothing waits, and delays no one else", async () => {
    const [first, , far] = nodes;
    const host = "upload.example.com";
    const asked = Promise.withResolvers<IncomingMessage>();
    const slow = await startHttpService((request, response) => {
      if (request.url !== "/slow") return void request.on("end", () => response.end("quick")).resume();
      asked.resolve(request);
      let bytes = 0;
      request.on("data", (part: Buffer) => (bytes += part.length)).pause();
      request.on("end", () => response.end(String(bytes)));
    });
    const agent = await far.agent({ upstream: slow.port, url: `https://${host}`, agent: single });
    const total = 32 * 1024 * 1024;
    const chunk = Buffer.alloc(64 * 1024);
    const at = { host: "127.0.0.1", port: first.httpsPort, servername: host, ca: first.agents.ca };
    const outgoing = requestHttps({
      ...at,
      path: "/slow",
      method: "POST",
      headers: { host, "content-length": total },
    });
    let sent = 0;
    const write = (): void => {
      while (sent < total) {
        sent += chunk.length;
        if (!outgoing.write(chunk)) return void outgoing.once("drain", write);
      }
      outgoing.end();
    };
    write();
    const came = await asked.promise;
    for (let last = -1; last !== sent;) {
      last = sent;
      const quick = await first.ask("h2", { host, method: "POST", body: Buffer.alloc(1_000_000) });
      assert.equal(quick.text, "quick");
    }
    assert.ok(sent < total / 2, `${sent} bytes were taken for nobody`);
    came.resume();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    assert.equal(await readText(response), String(total));
    await agent.close();
    await slow.stop();
  });

  it("servers on one database: known data of a newer server's agents is used, and unknown data is ignored", async () => {
    const [first] = nodes;
    const newer = await open(place.url, {
      cluster: true,
      declarations: storedKinds,
      sealingKey: Buffer.from(sealingKey, "base64"),
    });
    const account = (await first.call("GET", "/accounts")).body["accounts"] as readonly { readonly id: string }[];
    const accountId = String(account[0]?.id);
    const startedAt = new Date().toISOString();
    const shown = { accountId, metadata: "", region: "far", startedAt };
    const session = { ...shown, id: "ts_newer", credentialId: "cr_1", agentVersion: "9.0.0", ip: "192.0.2.1", os: "" };
    const tunnel = { ...shown, id: "tn_newer", sessionId: "ts_newer", credentialId: "cr_1", forwardsTo: "far" };
    const labels = { app: "newer" };
    const shared = { ...tunnel, startedAt: Date.now(), http2: false, proxyProtocol: 0, labels, colour: "red" };
    const entries = {
      edge_newer: { what: "edge", edgeId: "edge_newer", address: "tls:127.0.0.1:1", colour: "red" },
      sh_newer: { what: "shade", edgeId: "edge_newer", shade: { colour: "red" } },
      ts_newer: { what: "session", edgeId: "edge_newer", session: { ...session, transport: "later/9" } },
      tn_newer: { what: "tunnel", edgeId: "edge_newer", tunnel: { ...tunnel, labels, colour: "red" }, shared },
    };
    for (const [id, entry] of Object.entries(entries)) newer.node?.presence.put(id, JSON.stringify(entry));
    const list = await first.until("/tunnels", ({ text }) => text.includes("tn_newer"));
    assert.equal((list.body["tunnels"] as readonly unknown[]).length, 1);
    // The server continues with the messages that follow.
    const agent = await nodes[2].agent({
      upstream: service.port,
      url: "https://beside.example.com",
      agent: single,
    });
    assert.equal(await answered(first, "beside.example.com"), "served");
    await agent.close();
    await newer.close();
    await first.until("/tunnels", ({ body }) => (body["tunnels"] as readonly unknown[]).length === 0);
  });

  it("servers on one database: a URL of a suspended server moves to an agent of another after the lease, and stays there after it resumes", async (test) => {
    const [first, second, still] = nodes;
    const url = "https://taken.example.com";
    const host = "taken.example.com";
    const newService = await startHttpService((_request, response) => response.end("new"));
    test.after(() => newService.stop());
    const old = await still.agent({ upstream: service.port, url, agent: single });
    assert.equal(await answered(first, host), "served");
    process.kill(still.pid, "SIGSTOP");
    // Until then the holder of the URL may still be connected.
    const another = (): Promise<OurAgent> =>
      first.agent({ upstream: newService.port, url, agent: single }).catch((error: unknown) => {
        assert.match(String(error), /serves it/);
        return another();
      });
    let next: OurAgent;
    try {
      next = await another();
      for (const node of [first, second]) assert.equal(await answered(node, host), "new");
    } finally {
      process.kill(still.pid, "SIGCONT");
    }
    while ((await answered(still, host)) !== "new");
    assert.match((await old.ended).message, /newer session/);
    await still.until("/metrics", ({ text }) => /^postern_node_lease 1$/m.test(text));
    for (const node of nodes) {
      assert.equal((await tunnelsAt(node)).length, 1);
      assert.equal(await answered(node, host), "new");
    }
    await next.close();
  });
});

interface Address {
  readonly host: string;
  readonly port: number;
}

async function startWay(at: Address, to: Address): Promise<Way> {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((inner) => {
    inner.on("error", () => {});
    if (isCut) return void inner.destroy();
    const outer = connect(to);
    for (const [from, into] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      open.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        open.delete(from);
        into.destroy();
      });
      from.pipe(into);
    }
  }).listen(at);
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    cut,
    mend: () => void (isCut = false),
    stop() {
      cut();
      server.close();
    },
  };
}
