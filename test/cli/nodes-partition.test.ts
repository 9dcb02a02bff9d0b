/** Servers on one database, of which one is cut off from it or from the others. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseServerAddress } from "../../src/agent/connect.ts";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { makePartition } from "../support/partition.ts";
import type { Partition } from "../support/partition.ts";
import { rowsOf, startPostgres } from "../support/postgres.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startRelay } from "../support/relay.ts";
import type { Relay } from "../support/relay.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

interface Visits {
  /** Resolves when each server has answered more requests. */
  again(): Promise<void>;
  /** Returns the failures. */
  stop(): Promise<readonly string[]>;
}

describe(
  "servers on one database, one of which is cut off from it",
  { skip: skipWithoutPostgres, timeout: 180_000 },
  () => {
    let database: PostgresServer;
    let relay: Relay;
    let partition: Partition;
    /** The first server reaches the database through the relay. */
    let nodes: readonly [ServerNode, ServerNode, ServerNode];
    let service: HttpService;

    before(async () => {
      database = (await startPostgres({ port: await freePort() })) as PostgresServer;
      relay = await startRelay(database.port);
      const through = `postgres://postgres@127.0.0.1:${relay.port}/postgres`;
      partition = makePartition(["0", "1", "2"], (node) => nodes?.[Number(node)]?.pid);
      const port = await freePort();
      const start = async (url: string, at: number): Promise<ServerNode> => {
        const [host, peerHost] = [`127.0.0.${2 + at}`, `127.0.0.${12 + at}`];
        await partition.peersOf(String(at), { host, port }, peerHost);
        return await startNode(url, { POSTERN_PEER_LISTEN: `${host}:${port}`, POSTERN_PEER_ADDRESS: peerHost });
      };
      nodes = await Promise.all([start(through, 0), start(database.url, 1), start(database.url, 2)]);
      service = await startHttpService((_request, response) => response.end("served"));
    });
    after(async () => {
      await Promise.all(nodes.map((node) => node.end("SIGKILL")));
      relay.stop();
      partition.stop();
      await service.stop();
      await database.remove();
    });

    const lease = async (node: ServerNode): Promise<string> =>
      /^postern_node_lease (\d)$/m.exec((await node.call("GET", "/metrics")).text)?.[1] ?? "";
    const memberCount = async (node: ServerNode): Promise<string> =>
      /^postern_nodes (\d+)$/m.exec((await node.call("GET", "/metrics")).text)?.[1] ?? "";
    const sessionsAt = async (node: ServerNode): Promise<number> =>
      Number(/^postern_tunnel_sessions (\d+)$/m.exec((await node.call("GET", "/metrics")).text)?.[1]);

    const readiness = (node: ServerNode): Promise<readonly number[]> =>
      Promise.all(["traffic", "writes", "all"].map(async (of) => (await node.call("GET", `/readyz?of=${of}`)).status));

    /** Returns the number of names that agents serve, according to the database. */
    const servedNames = async (): Promise<number> => {
      const [row] = await rowsOf(database.url, "select count(*)::int as count from presence_names where is_served");
      return row?.["count"] as number;
    };

    /** Sends requests for each host to each server, one after the other, until `stop`, which returns the failures. */
    const visitAll = async (hosts: readonly string[]): Promise<Visits> => {
      const over = new AbortController();
      const failures: string[] = [];
      let answers = 0;
      const visit = async (node: ServerNode, host: string): Promise<void> => {
        while (!over.signal.aborted) {
          const answer = await node.ask("h1", { host }).catch((error: unknown) => ({ status: 0, text: String(error) }));
          answers += 1;
          if (answer.text !== "served")
            failures.push(`${host} at ${nodes.indexOf(node)}: ${answer.status} ${answer.text}`);
          await new Promise((resume) => setTimeout(resume, 20));
        }
      };
      const all = nodes.flatMap((node) => hosts.map((host) => ({ node, host })));
      for (const { node, host } of all) {
        await eventually(
          () => node.ask("h1", { host }),
          ({ status }) => status === 200,
        );
      }
      const visits = all.map(({ node, host }) => visit(node, host));
      return {
        async again() {
          const before = answers;
          await eventually(
            () => answers - before,
            (count) => count > 20 * all.length,
          );
        },
        async stop() {
          over.abort();
          await Promise.all(visits);
          assert.ok(answers > 100, `only ${answers} answers`);
          return failures;
        },
      };
    };

    it("servers on one database: agents of a server that is cut off are served without a failed request, open sessions at other servers, and leave it after its return", async () => {
      const [away, ...others] = nodes;
      const [first, second] = others;
      const at = (node: ServerNode) => parseServerAddress(`127.0.0.1:${node.agents.port}`);
      const staying = "staying.example.com";
      const moving = "moving.example.com";
      // One agent can only connect to the server that is cut off. The other one also has sessions elsewhere.
      const agents = [
        await away.agent({ upstream: service.port, url: `https://${staying}`, agent: { connections: 2 } }),
        await away.agent({
          upstream: service.port,
          url: `https://${moving}`,
          agent: { connections: 2, otherServers: [at(first), at(second)] },
        }),
      ];
      await eventually(
        () => sessionsAt(away),
        (count) => count === 3,
      );
      const visits = await visitAll([staying, moving]);
      let failures: readonly string[] = [];
      try {
        relay.blackhole();
        await eventually(
          () => lease(away),
          (held) => held === "0",
        );
        for (const node of others)
          await eventually(
            () => memberCount(node),
            (count) => count === "2",
          );
        await eventually(
          async () => (await sessionsAt(first)) + (await sessionsAt(second)),
          (count) => count === 2,
        );
        assert.equal(await sessionsAt(away), 3);
        assert.deepEqual(await readiness(away), [200, 503, 503]);
        assert.deepEqual(await readiness(first), [200, 200, 200]);
        relay.mend();
        await eventually(
          () => lease(away),
          (held) => held === "1",
        );
        await eventually(
          () => sessionsAt(away),
          (count) => count === 2,
        );
      } finally {
        failures = await visits.stop();
      }
      assert.deepEqual(failures, []);
      for (const agent of agents) await agent.close();
    });

    it("K5: servers on one database: revoking the token of an agent at a server that is cut off ends its URL at the others", async () => {
      const [away, ...others] = nodes;
      const [first] = others;
      const host = "revoked.example.com";
      const made = await first.call("POST", "/credentials", { description: "revoked" }, { prefer: "wait=10" });
      const token = String(made.body["token"]);
      const url = `https://${host}`;
      const agent = await away.agent({ upstream: service.port, url, token, agent: { connections: 2 } });
      const served = async (node: ServerNode): Promise<boolean> =>
        (await node.ask("h1", { host }).catch(() => undefined))?.text === "served";
      for (const node of nodes) await eventually(() => served(node), Boolean);
      relay.blackhole();
      try {
        for (const node of others)
          await eventually(
            () => memberCount(node),
            (count) => count === "2",
          );
        for (const node of others) assert.equal(await served(node), true);
        assert.equal((await first.call("DELETE", `/credentials/${String(made.body["id"])}`)).status, 204);
        for (const node of others)
          await eventually(
            () => served(node),
            (isServed) => !isServed,
          );
      } finally {
        relay.mend();
      }
      assert.match((await agent.ended).message, /token/i);
      await eventually(
        () => lease(away),
        (held) => held === "1",
      );
    });

    it("servers on one database: agents of a server that reaches no other server open sessions at other servers, which serve them until its return", async () => {
      const [away, ...others] = nodes;
      const host = "isolated.example.com";
      const otherServers = others.map((node) => parseServerAddress(`127.0.0.1:${node.agents.port}`));
      const agent = await away.agent({
        upstream: service.port,
        url: `https://${host}`,
        agent: { connections: 1, otherServers },
      });
      const served = async (node: ServerNode): Promise<boolean> =>
        (await node.ask("h1", { host }).catch(() => undefined))?.text === "served";
      for (const node of nodes) await eventually(() => served(node), Boolean);
      partition.cut("0", "peers");
      await eventually(
        async () => (await Promise.all(others.map(sessionsAt))).reduce((sum, count) => sum + count, 0),
        (count) => count === 1,
      );
      for (const node of others) await eventually(() => served(node), Boolean);
      assert.deepEqual(await readiness(away), [200, 200, 503]);
      for (const node of others) assert.deepEqual(await readiness(node), [200, 200, 200]);
      assert.equal(await lease(away), "1");
      partition.heal("0", "peers");
      await eventually(
        async () => (await readiness(away)).at(-1),
        (status) => status === 200,
      );
      for (const node of nodes) await eventually(() => served(node), Boolean);
      await agent.close();
    });

    it("servers on one database: agents of a server that reaches neither the database nor another server open sessions at other servers, and their old sessions serve its visitors", async () => {
      const [away, ...others] = nodes;
      const host = "alone.example.com";
      const otherServers = others.map((node) => parseServerAddress(`127.0.0.1:${node.agents.port}`));
      const agent = await away.agent({
        upstream: service.port,
        url: `https://${host}`,
        agent: { connections: 1, otherServers },
      });
      const served = async (node: ServerNode): Promise<boolean> =>
        (await node.ask("h1", { host }).catch(() => undefined))?.text === "served";
      for (const node of nodes) await eventually(() => served(node), Boolean);
      relay.blackhole();
      partition.cut("0", "peers");
      try {
        for (const node of others) await eventually(() => served(node), Boolean);
        assert.equal(await sessionsAt(away), 1);
        assert.equal(await served(away), true);
        assert.deepEqual(await readiness(away), [200, 503, 503]);
      } finally {
        relay.mend();
        partition.heal("0", "peers");
      }
      await eventually(
        async () => (await readiness(away)).at(-1),
        (status) => status === 200,
      );
      for (const node of nodes) await eventually(() => served(node), Boolean);
      await agent.close();
    });

    for (const isLong of [false, true]) {
      it(`servers on one database: a crash of the database${isLong ? " and an outage longer than the leases" : ""}, which empties the presence of agents, fails no request`, async () => {
        const hosts = nodes.map((_node, at) => `crash-${at}-${isLong}.example.com`);
        const agents = await Promise.all(
          nodes.map((node, at) =>
            node.agent({ upstream: service.port, url: `https://${hosts[at]}`, agent: { connections: 1 } }),
          ),
        );
        const visits = await visitAll(hosts);
        let failures: readonly string[] = [];
        try {
          await eventually(servedNames, (count) => count === nodes.length);
          await database.crash();
          if (isLong) {
            for (const node of nodes) {
              await eventually(
                () => lease(node),
                (held) => held === "0",
              );
            }
          }
          await database.start();
          for (const node of nodes) {
            await eventually(
              async () => `${await lease(node)} of ${await memberCount(node)}`,
              (state) => state === "1 of 3",
            );
          }
          // Each server writes its agents again. What it does not write ends ten seconds later.
          await eventually(servedNames, (count) => count === nodes.length);
          await visits.again();
          for (const node of nodes) {
            const { body } = await node.call("GET", "/tunnels");
            assert.equal((body["tunnels"] as readonly unknown[]).length, nodes.length);
          }
        } finally {
          failures = await visits.stop();
          for (const agent of agents) await agent.close();
        }
        assert.deepEqual(failures, []);
      });
    }
  },
);
