/** One document of 1,000 objects: planned, applied in one commit, and compared with creating the objects one by one. */
import { api, many } from "./support/api-client.ts";
import { startServer } from "./support/postern.ts";
import { interleave, table, verdict, median } from "./support/report.ts";

const edges = 100;
const routesPerEdge = 8;
const others = 100;

interface Made {
  readonly id: string;
}
interface Answer {
  readonly summary: { readonly create: number; readonly update: number; readonly unchanged: number };
}

/** Returns 1,000 objects: backends, edges and their routes, with modules that refer to each other by name. */
function documentOf(round: number, description: string): Record<string, unknown> {
  const names = Array.from({ length: others }, (_, index) => `web-${index}`);
  const objects = {
    tunnel_group_backend: Object.fromEntries(
      names.map((name) => [name, { description, labels: { app: `${name}-${round}` } }]),
    ),
    https_edge: Object.fromEntries(
      Array.from({ length: edges }, (_, index) => [
        `edge-${index}`,
        { description, hostports: [`e${index}-${round}.localhost:443`] },
      ]),
    ),
    https_edge_route: Object.fromEntries(
      Array.from({ length: edges * routesPerEdge }, (_, index) => [
        `route-${index}`,
        {
          edge_id: `edge-${index % edges}`,
          match_type: "path_prefix",
          match: `/part-${Math.floor(index / edges)}`,
          description,
          backend: { backend_id: names[index % others] },
          compression: {},
        },
      ]),
    ),
  };
  return { document: `round-${round}`, objects };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const server = await startServer();
const expect = (answer: Answer, action: "create" | "update" | "unchanged"): void => {
  if (answer.summary[action] < 1000) throw new Error(`it was to ${action} 1,000: ${JSON.stringify(answer.summary)}`);
};
const send = async (path: string, body: unknown, action: "create" | "update" | "unchanged"): Promise<void> =>
  expect(await api<Answer>(server.apiUrl, "POST", path, body), action);

let round = 0;
let single = 0;
const samples = await interleave<Readonly<Record<string, number>>>(
  [
    {
      name: "one document",
      async measure() {
        round += 1;
        const [fresh, changed] = [documentOf(round, "new"), documentOf(round, "changed")];
        return {
          "plan ms": await timed(() => send("/plan", fresh, "create")),
          "1,000 objects ms": await timed(() => send("/apply", fresh, "create")),
          "unchanged ms": await timed(() => send("/apply", fresh, "unchanged")),
          "all changed ms": await timed(() => send("/apply", changed, "update")),
        };
      },
    },
    {
      name: "a POST each, 64 connections",
      async measure() {
        const took = await timed(() =>
          many(1000, async () => {
            single += 1;
            await api<Made>(server.apiUrl, "POST", "/backends/tunnel_group", { labels: { app: `single-${single}` } });
          }),
        );
        return { "1,000 objects ms": took };
      },
    },
  ],
  5,
);
table("1,000 objects", samples, [["1,000 objects ms", "one document", "a POST each, 64 connections", { atMost: 1 }]]);
const of = (figure: string): number => median((samples.get("one document") ?? []).map((row) => row[figure] as number));
verdict("apply of 1,000 new objects, ms", of("1,000 objects ms"), { atMost: 1000 });
verdict("apply of 1,000 changed objects, ms", of("all changed ms"), { atMost: 1000 });
await server.stop();
