/** Servers on one database of which one differs: its clock is wrong, it is cut off, it is suspended, or it is newer. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as requestHttps } from "node:https";
import type { IncomingMessage } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { storedKinds } from "../../src/storage/opening/stored-kinds.ts";
import { open } from "../storage/fixture.ts";
import { freePort } from "../support/connections.ts";
import { startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { alpnOf, connectOver, protocols } from "../support/http-client.ts";
import { sealingKey, startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import { Visitor } from "../support/visitor.ts";
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

  it("servers on one database: while only the line between two of them is cut, requests reach an agent through its other session", async () => {
    const [first, second, far] = nodes;
    const host = "two-ways.example.com";
    const agent = await first.agent({
      upstream: service.port,
      url: `https://${host}`,
      agent: { connections: 2, otherServers: [{ host: "127.0.0.1", port: far.agents.port }] },
    });
    await second.until("/tunnels", ({ body }) => {
      const tunnels = body["tunnels"] as readonly { readonly tunnel_session: { readonly id: string } }[];
      return new Set(tunnels.map(({ tunnel_session: { id } }) => id)).size === 2;
    });
    const over = new AbortController();
    const visitors = protocols.flatMap((protocol) =>
      (["GET", "POST"] as const).map(
        (method) =>
          new Visitor({
            protocol,
            method,
            host,
            text: "served",
            connect: () => connectOver([alpnOf(protocol)], second.httpsPort, first.agents.ca, { host }),
            until: over.signal,
          }),
      ),
    );
    const asking = visitors.map((visitor) => visitor.run());
    const busy = async (): Promise<void> => {
      const before = visitors.map(({ answers }) => answers);
      await eventually(
        () => visitors.every(({ answers }, at) => answers > (before[at] ?? 0) + 50),
        (isDone) => isDone,
      );
    };
    await busy();
    way.cut();
    await busy();
    way.mend();
    await busy();
    over.abort();
    await Promise.all(asking);
    const failures = (method: string): readonly unknown[] =>
      visitors.flatMap((visitor) => visitor.failures).filter((text) => String(text).includes(` ${method},`));
    assert.deepEqual(failures("GET"), []);
    // Only a POST that was on the line may be lost, one for each visitor.
    assert.ok(failures("POST").length <= protocols.length, String(failures("POST")));
    await agent.close();
  });

  it("K5: servers on one database: revoking a token at one of them ends its agent at another, and its URL at all", async () => {
    const [first, second, far] = nodes;
    const host = "revoked.example.com";
    const made = await first.call("POST", "/credentials", { description: "revoked" }, { prefer: "wait=10" });
    const agent = await far.agent({
      upstream: service.port,
      url: `https://${host}`,
      token: String(made.body["token"]),
      agent: single,
    });
    for (const node of nodes) assert.equal(await answered(node, host), "served");
    const revoked = await second.call("DELETE", `/credentials/${String(made.body["id"])}`);
    assert.equal(revoked.status, 204, revoked.text);
    assert.match((await agent.ended).message, /token/i);
    for (const node of nodes) {
      // Without the endpoint, there is no certificate for the name.
      const ends = (): Promise<string> => node.ask("h1", { host }).then(({ text }) => text, String);
      await eventually(ends, (end) => end.includes("unrecognized name"));
      assert.deepEqual(await tunnelsAt(node), []);
    }
  });

  it("servers on one database: an agent whose clock jumps by hours keeps its session and URL, and reconnects", async () => {
    const [first, , far] = nodes;
    const directory = mkdtempSync(join(tmpdir(), "postern-jump-"));
    const hours = join(directory, "hours");
    const ca = join(directory, "ca.pem");
    writeFileSync(hours, "0");
    writeFileSync(ca, first.agents.ca);
    const host = "jumps.example.com";
    const agent = startCommand(
      `http ${service.port} --url https://${host} --server localhost:${first.agents.port} --ca ${ca} --json --inspector off`.split(
        " ",
      ),
      {
        env: {
          HOME: directory,
          XDG_CONFIG_HOME: directory,
          POSTERN_AUTHTOKEN: first.agents.token,
          POSTERN_CONNECTIONS: "1",
          POSTERN_TEST_HOURS: hours,
          NODE_OPTIONS: `--import ${new URL("../support/jumping-clock.ts", import.meta.url).href}`,
        },
      },
    );
    await agent.firstLine();
    const session = async (): Promise<string> => (await tunnelsAt(first)).map(({ id }) => id).join();
    const id = await session();
    for (const jump of ["5", "-5", "0"]) {
      writeFileSync(hours, jump);
      for (let request = 0; request < 50; request += 1) {
        assert.equal((await far.ask("h1", { host })).text, "served");
      }
      assert.equal(await session(), id);
    }
    writeFileSync(hours, "7");
    const [open] = (await first.call("GET", "/tunnel_sessions")).body["tunnel_sessions"] as readonly { id: string }[];
    assert.equal((await first.call("POST", `/tunnel_sessions/${open?.id}/restart`, {})).status, 204);
    assert.equal(await answered(far, host), "served");
    const { code } = await agent.end("SIGINT");
    assert.equal(code, 130);
    rmSync(directory, { recursive: true });
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
