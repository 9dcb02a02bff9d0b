/** MCP sessions when several agents serve one URL: each session stays at the agent that began it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import type { Asked, Protocol } from "../support/http-client.ts";
import { newCredential } from "../support/objects.ts";
import { startHttpService } from "../support/services.ts";
import { peerWays, startTwoEdges } from "../support/two-edges.ts";
import type { TwoEdges } from "../support/two-edges.ts";

const host = "tools.example.com";
const session = "mcp-session-id";
const MCP = { MCP: {} };

/** Begins a session for a request without one, and tells its name and the id that it received. */
const startServer = (name: string) =>
  startHttpService((request, response) => {
    const given = request.headers[session];
    response.setHeader(session, given ?? `${name}.session`);
    response.setHeader("content-type", request.url === "/stream" ? "text/event-stream" : "text/plain");
    response.end(`${name} ${String(given)} ${"x".repeat(2000)}`);
  });

for (const way of peerWays) {
  describe(`MCP sessions at two agents over ${way}`, { timeout: 60_000 }, () => {
    const own = newCredential();
    const second = newCredential("cr_2");
    const stops: (() => unknown)[] = [];
    const agents: TestAgent[] = [];
    const choices: number[] = [];
    let both: TwoEdges;
    const startAgent = async (at: 0 | 1, name: string, token: string): Promise<TestAgent> => {
      const service = await startServer(name);
      const agent = await connectAgent(both.edges[at], token, service.port);
      stops.push(
        () => service.stop(),
        () => agent.close(),
      );
      return agent;
    };
    before(async () => {
      both = await startTwoEdges([own.object, second.object], { random: () => choices.shift() ?? 0 }, way);
      stops.push(() => both.stop());
      agents.push(await startAgent(0, "a", own.token), await startAgent(0, "b", second.token));
      for (const agent of agents) await agent.bind({ hostname: host, pooling: true, options: MCP });
    });
    after(async () => {
      for (const stop of stops.reverse()) await stop();
    });
    const ask = (http: Protocol, at: 0 | 1, id?: string, wanted = 0, path = "/"): Promise<Asked> => {
      // The handshake takes the first choice.
      choices.splice(0, choices.length, wanted, wanted);
      return both.edges[at].ask(http, { host, path, headers: id === undefined ? {} : { [session]: id } });
    };
    const idOf = ({ headers }: Asked): string => String(headers[session]);
    const told = ({ text }: Asked): string => text.split(" ", 2).join(" ");

    for (const http of protocols) {
      it(`an MCP session stays at its agent over ${http} and ${way}, also for visitors of another edge`, async () => {
        for (const [name, choice] of [
          ["a", 0],
          ["b", 0.9],
        ] as const) {
          const begun = await ask(http, 0, undefined, choice);
          assert.equal(told(begun), `${name} undefined`);
          const id = idOf(begun);
          assert.match(id, new RegExp(String.raw`^[\w-]{12}\.${name}\.session$`));
          for (const [at, other] of [
            [0, 0],
            [0, 0.9],
            [1, 0],
            [1, 0.9],
          ] as const) {
            const again = await ask(http, at, id, other);
            assert.equal(told(again), `${name} ${name}.session`);
            assert.equal(idOf(again), id);
          }
        }
      });

      it(`an MCP session that no connected agent began gets 404 over ${http} and ${way}`, async () => {
        for (const id of ["a.session", "AAAAAAAAAAAA.session", "AAAAAAAAAAAA."]) {
          const refused = await ask(http, 0, id);
          assert.equal(refused.status, 404, id);
          assert.match(refused.text, new RegExp(errorCode("mcp_session_gone")));
        }
      });

      it(`an MCP stream over ${http} and ${way} asks proxies neither to buffer nor to compress it`, async () => {
        const { headers } = await ask(http, 1, undefined, 0, "/stream");
        assert.deepEqual([headers["x-accel-buffering"], headers["cache-control"]], ["no", "no-transform"]);
      });
    }

    it(`an MCP session whose agent has left gets 404 over ${way}, and a new session begins at another agent`, async () => {
      const third = newCredential("cr_3");
      both.put(third.object);
      const agent = await startAgent(1, "c", third.token);
      await agent.bind({ hostname: host, pooling: true, options: MCP });
      const id = idOf(await ask("h1", 1));
      assert.equal(told(await ask("h2", 0, id)), "c c.session");
      agent.close();
      for (const at of [0, 1] as const) {
        const gone = await eventually(
          () => ask("h1", at, id),
          ({ status }) => status === 404,
        );
        assert.match(gone.text, new RegExp(errorCode("mcp_session_gone")));
        assert.match(told(await ask("h1", at)), /^[ab] undefined$/);
      }
    });

    it(`an MCP session stays at its agent over ${way} if the agents of the URL have different options`, async () => {
      const at = "unlike.example.com";
      for (const [index, agent] of agents.entries()) {
        const more = { ResponseHeaders: { add: [`x-agent: ${index}`] } };
        await agent.bind({ hostname: at, pooling: true, options: { ...MCP, ...more } });
      }
      for (const choice of [0, 0.9]) {
        choices.splice(0, choices.length, choice, choice);
        const begun = await both.edges[0].ask("h1", { host: at });
        const { [session]: id = "", "x-agent": agent } = begun.headers;
        for (const other of [0, 0.9]) {
          choices.splice(0, choices.length, other, other);
          const again = await both.edges[0].ask("h1", { host: at, headers: { [session]: id } });
          assert.equal(again.headers["x-agent"], agent);
        }
      }
    });
  });
}

describe("MCP sessions behind a backend", { timeout: 60_000 }, () => {
  it("an MCP session stays at its agent if a tunnel group serves the route", async () => {
    const own = newCredential();
    const both = await startTwoEdges([own.object]);
    const servers = await Promise.all(["a", "b"].map(startServer));
    const agents: TestAgent[] = [];
    for (const { port } of servers) agents.push(await connectAgent(both.edges[0], own.token, port));
    for (const agent of agents) await agent.label({ app: "tools" });
    both.put({ kind: "tunnel_group_backend", id: "bkdtg_1", doc: { labels: { app: "tools" } } });
    both.put({
      kind: "https_edge",
      id: "edghts_1",
      doc: { hostports: [`${host}:443`], mutual_tls: null, tls_termination: null },
    });
    const modules = { backend: { enabled: true, backend_id: "bkdtg_1" }, mcp: { enabled: true } };
    const doc = { edge_id: "edghts_1", match: "/", match_type: "path_prefix", ...modules };
    both.put({ kind: "https_edge_route", id: "edghtsrt_1", doc });
    const ask = (headers = {}) => both.edges[0].ask("h1", { host, headers });
    const begun = [await ask(), await ask()];
    assert.deepEqual(new Set(begun.map(({ text }) => text[0])), new Set(["a", "b"]));
    for (const { text, headers } of begun) {
      const id = String(headers[session]);
      for (let time = 0; time < 3; time += 1) assert.equal((await ask({ [session]: id })).text[0], text[0]);
    }
    for (const agent of agents) agent.close();
    for (const server of servers) await server.stop();
    await both.stop();
  });
});
