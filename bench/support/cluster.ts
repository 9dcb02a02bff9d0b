/** Servers that share a new PostgreSQL, and the CPU time of each part. */
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Client } from "pg";
import { startPostgres } from "../../test/support/postgres.ts";
import { startServer } from "./postern.ts";
import type { PosternServer } from "./postern.ts";
import { cpuMicros, freePort } from "./system.ts";

/** The control plane and one edge. */
const planes = 2;

export interface Cluster {
  readonly nodes: readonly PosternServer[];
  /** Starts one more node, which the caller stops. */
  startNode(): Promise<PosternServer>;
  /** CPU seconds of PostgreSQL so far. */
  databaseSeconds(): number;
  /** Number of transactions of all nodes so far. */
  transactions(): Promise<number>;
  stop(): Promise<void>;
}

export async function startCluster(count: number): Promise<Cluster> {
  const postgres = await startPostgres({ port: await freePort() });
  if (!postgres) throw new Error("measure nodes: PostgreSQL is not installed");
  process.env["POSTERN_SEALING_KEY"] = randomBytes(32).toString("base64");
  const ofCluster = ["--cluster", "--database", postgres.url, "--peer-listen", "127.0.0.1:0", "--drain-delay", "0"];
  // `heapBytes` measures their heaps.
  const env = { NODE_OPTIONS: `--expose-gc --import=${resolve("test/support/thread-memory.ts")}` };
  const startNode = (): Promise<PosternServer> => startServer(undefined, ofCluster, env);
  const nodes: PosternServer[] = [];
  for (let at = 0; at < count; at += 1) nodes.push(await startNode());
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  const postmaster = Number(readFileSync(join(postgres.directory, "data", "postmaster.pid"), "utf8").split("\n")[0]);
  return {
    nodes,
    startNode,
    databaseSeconds: () => cpuMicros(postmaster) / 1e6,
    async transactions() {
      const text = "select xact_commit as count from pg_stat_database where datname = current_database()";
      const { rows } = await client.query<{ count: string }>(text);
      return Number(rows[0]?.count);
    },
    async stop() {
      for (const node of nodes) await node.stop();
      await client.end();
      await postgres.remove();
    },
  };
}

/** Returns the CPU seconds of a process so far, by thread name. */
export function threadSeconds(pid: number): ReadonlyMap<string, number> {
  return scheduled(pid, 0);
}

/**
 * Returns the seconds for which threads were ready to run but had no CPU. An otherwise idle machine has almost none.
 */
export function threadWaits(pid: number): ReadonlyMap<string, number> {
  return scheduled(pid, 1);
}

/** @param column of `schedstat`, nanoseconds */
function scheduled(pid: number, column: number): ReadonlyMap<string, number> {
  const seconds = new Map<string, number>();
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const at = `/proc/${pid}/task/${task}`;
    const name = readFileSync(`${at}/comm`, "utf8").trim();
    const ns = Number(readFileSync(`${at}/schedstat`, "utf8").split(" ")[column]);
    seconds.set(name, (seconds.get(name) ?? 0) + ns / 1e9);
  }
  return seconds;
}

/** Returns the heap bytes of a node's planes after garbage collection, by thread name. */
export function heapBytes({ child, pid }: PosternServer): Promise<ReadonlyMap<string, number>> {
  return new Promise((resolved) => {
    const bytes = new Map<string, number>();
    const take = (output: Buffer): void => {
      for (const [, told] of output.toString().matchAll(/^memory (\{.*\})$/gm)) {
        const one = JSON.parse(told as string) as { readonly thread: string; readonly bytes: number };
        bytes.set(one.thread, one.bytes);
      }
      if (bytes.size < planes) return;
      child.stderr?.off("data", take);
      resolved(bytes);
    };
    child.stderr?.on("data", take);
    process.kill(pid, "SIGUSR2");
  });
}
