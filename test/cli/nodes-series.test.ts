/** The history of traffic over several servers: each keeps its own, and any of them returns the sum. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { eventually } from "../support/eventually.ts";
import { startNode } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const postgres = databases.find(({ name }) => name === "postgres");

interface SeriesBody {
  readonly complete: boolean;
  readonly groups: readonly { readonly name: string | null; readonly series: readonly { readonly total: number }[] }[];
}

describe("the history of several servers", { skip: skipWithoutPostgres }, () => {
  let place: Awaited<ReturnType<NonNullable<typeof postgres>["create"]>>;
  let nodes: readonly ServerNode[];

  before(async () => {
    place = await (postgres as NonNullable<typeof postgres>).create();
    // One of the servers has two edges, which both answer for it.
    const listen = (at: number) => ({ POSTERN_PEER_LISTEN: `127.0.0.${at + 2}:0`, POSTERN_EDGES: String(at + 1) });
    nodes = [await startNode(place.url, listen(0)), await startNode(place.url, listen(1))];
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.end()));
    await place.drop();
  });

  it("the history of several servers is the exact sum of what each of them has served", async () => {
    const [first, second] = nodes as readonly [ServerNode, ServerNode];
    const made = async (path: string, body: object): Promise<string> => {
      const reply = await first.call("POST", path, body, { prefer: "wait=10" });
      assert.ok(reply.status < 300, reply.text);
      return String(reply.body["id"]);
    };
    const answering = await made("/backends/http_response", { body: "answered" });
    for (const host of ["shop.localhost", "blog.localhost"]) {
      const hostports = nodes.map(({ httpsPort }) => `${host}:${httpsPort}`);
      const edge = await made("/edges/https", { hostports });
      await made(`/edges/https/${edge}/routes`, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: answering },
      });
    }
    const visits = [
      [first, "shop.localhost", 7],
      [second, "shop.localhost", 5],
      [second, "blog.localhost", 3],
    ] as const;
    for (const [node, host, count] of visits) {
      for (let at = 0; at < count; at += 1) assert.equal((await node.ask("h1", { host })).status, 200);
    }
    for (const node of nodes) {
      const read = async (query: string): Promise<unknown> => {
        const { body } = await node.call("GET", `/metrics_series?metric=requests${query}`);
        const { complete, groups } = body as unknown as SeriesBody;
        return [complete, groups.map(({ name, series }) => [name, series[0]?.total])];
      };
      await eventually(
        () => read("&group_by=service"),
        (found) =>
          isDeepStrictEqual(found, [
            true,
            [
              ["shop.localhost", 12],
              ["blog.localhost", 3],
            ],
          ]),
      );
      assert.deepEqual(await read(""), [true, [[null, 15]]]);
      assert.deepEqual(await read("&step=1d"), [true, [[null, 15]]]);
    }
  });
});
