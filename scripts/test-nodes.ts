/**
 * `npm run test:nodes [-- FILE …]`: suites of the API and of traffic against two nodes on one PostgreSQL, each call at one of
 * them at random (see `test/support/node-count.ts`). Files that stop a server, or count what one has, are of one server.
 */
import { globSync, readFileSync } from "node:fs";

process.env["POSTERN_TEST_NODES"] ??= "2";
const api = "documents filter history input lists modules quotas reach resources small-resources traffic".split(" ");
const isOnEdges = (file: string): boolean => readFileSync(file, "utf8").includes("startEdgeWithAgent(");
/** On the whole platform. */
const platforms = ["connections", "public-sdk", "tcp-tunnels", "traffic-events"];
const suites = [
  ...api.map((name) => `test/api/${name}.test.ts`),
  ...globSync("test/traffic/*.test.ts").filter(isOnEdges),
  ...platforms.map((name) => `test/traffic/${name}.test.ts`),
];
if (process.argv.length === 2) process.argv.push(...suites);
await import("./test.ts");
