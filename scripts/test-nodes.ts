/**
 * `npm run test:nodes [-- FILE …]`: runs API and traffic suites against two nodes on one PostgreSQL. Each call is sent
 * to a random node (see `test/support/node-count.ts`). Files that stop a server, or count its resources, use one
 * server. Then `postern chaos` stops, kills, pauses and cuts off each of three nodes.
 */
import { globSync, readFileSync } from "node:fs";

process.env["POSTERN_TEST_NODES"] ??= "2";
const api = "documents filter history input lists modules quotas reach resources small-resources traffic".split(" ");
const isOnEdges = (file: string): boolean => readFileSync(file, "utf8").includes("startEdgeWithAgent(");
/** Files that test the whole platform. */
const platforms = ["connections", "public-sdk", "tcp-tunnels", "traffic-events"];
const suites = [
  ...api.map((name) => `test/api/${name}.test.ts`),
  ...globSync("test/traffic/*.test.ts").filter(isOnEdges),
  ...platforms.map((name) => `test/traffic/${name}.test.ts`),
  "test/cli/chaos.test.ts",
];
if (process.argv.length === 2) process.argv.push(...suites);
await import("./test.ts");
