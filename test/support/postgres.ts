/**
 * Databases for tests: an SQLite file, and PostgreSQL. POSTERN_TEST_POSTGRES names the PostgreSQL server. Without it,
 * tests share a private server, which starts once per test run from installed binaries and stops when the run ends.
 * Every `create()` returns an empty database.
 */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { accessSync, chownSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { findExecutable, findProgram, skipWithoutPostgres } from "./programs.ts";

export interface TestDatabase {
  readonly name: "sqlite" | "postgres";
  create(): Promise<{ readonly url: string; drop(): Promise<void> }>;
}

export interface PostgresOptions {
  /** Also listens on this port of 127.0.0.1. Default: only a socket in the file system. */
  readonly port?: number;
  /** How clients on the port authenticate. Default: no authentication. */
  readonly auth?: "scram-sha-256";
  /** Whether the server has TLS with a certificate for "localhost". */
  readonly tls?: boolean;
  /** Whether commits are written to the disk. Default: true. false suits servers that never crash. */
  readonly isLasting?: boolean;
  /** Interval at which the server checks whether it must stop, seconds. Default: ten times a second. */
  readonly lookSeconds?: number;
}

export interface PostgresServer {
  /** 5432 for a server that has only a socket. */
  readonly port: number;
  readonly directory: string;
  /** CA of the server's certificate, if the server has TLS. */
  readonly caFile: string;
  /** URL of the database `postgres`, with a user who may create other databases. */
  readonly url: string;
  /** Crashes like a failing machine: without a shutdown checkpoint. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and removes its data. */
  remove(): Promise<void>;
}

const sqlite: TestDatabase = {
  name: "sqlite",
  async create() {
    const directory = mkdtempSync(join(tmpdir(), "postern-sqlite-"));
    return {
      url: join(directory, "postern.db"),
      drop: async () => rmSync(directory, { recursive: true, force: true }),
    };
  },
};

const postgres: TestDatabase = {
  name: "postgres",
  async create() {
    const given = process.env["POSTERN_TEST_POSTGRES"];
    const free = emptied.pop();
    if (free !== undefined) return { url: free, drop: () => empty(free) };
    const server = given ?? (await sharedServer());
    const name = `postern_test_${randomBytes(8).toString("hex")}`;
    await statement(server, `create database ${name}`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    const drop = (): Promise<void> => statement(server, `drop database if exists ${name} with (force)`);
    return { url: url.href, drop: given === undefined ? () => empty(url.href) : drop };
  },
};

/**
 * Databases of the shared server, which removes them when it stops. Creating one takes several times longer than
 * emptying one.
 */
const emptied: string[] = [];

/** Returns the URL without the limit of 8 seconds for a write, for tests that move the clock while writes are in progress. */
export function withoutPatience(url: string): string {
  if (!url.startsWith("postgres")) return url;
  const patient = new URL(url);
  patient.searchParams.set("query_timeout", "30000");
  return patient.href;
}

async function empty(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const others = "datname = current_database() and pid <> pg_backend_pid()";
  await statement(
    url,
    `alter database ${name} reset all;
    select pg_terminate_backend(pid, 10000) from pg_stat_activity where ${others};
    drop schema public cascade;
    create schema public`,
  );
  emptied.push(url);
}

const initdb = findProgram("initdb");
const binaries = initdb === undefined ? undefined : dirname(initdb);

export const databases: readonly TestDatabase[] = skipWithoutPostgres ? [sqlite] : [sqlite, postgres];

/** Starts a private server for tests that break it; undefined if PostgreSQL is not installed. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer | undefined> {
  if (!binaries) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "postern-postgres-"));
  if (options.tls) await writeCertificate(directory);
  return await serverIn(directory, options);
}

export interface StandbyServer extends PostgresServer {
  /** Resolves when the standby has all data of the primary. */
  hasAll(): Promise<void>;
  /** Makes the standby accept writes. */
  promote(): Promise<void>;
}

/** Starts a standby that streams from `primary`. */
export async function startStandby(primary: PostgresServer, port: number): Promise<StandbyServer> {
  const directory = mkdtempSync(join(tmpdir(), "postern-standby-"));
  own(directory);
  const copy = `'${postgresTool("pg_basebackup")}' -h '${primary.directory}' -p ${primary.port} -U postgres -D '${directory}/data' -R -X stream -c fast`;
  const { status, stderr } = spawnSync("sh", ["-c", asUser(copy)], { encoding: "utf8" });
  if (status !== 0) throw new Error(`pg_basebackup failed: ${stderr}`);
  const server = await serverIn(directory, { port });
  return {
    ...server,
    async hasAll() {
      const [wanted] = await rowsOf(primary.url, "select pg_current_wal_flush_lsn() as at");
      const text = `select pg_last_wal_replay_lsn() >= '${String(wanted?.["at"])}' as there`;
      while (!(await rowsOf(server.url, text))[0]?.["there"]) await delay(20);
    },
    promote: () => statement(server.url, "select pg_promote()"),
  };
}

async function serverIn(directory: string, options: PostgresOptions): Promise<PostgresServer> {
  const { port = 5432 } = options;
  writeFileSync(join(directory, "server.sh"), serverScript(directory, options));
  let server = await launch(directory, process.pid, port);
  const crash = async (): Promise<void> => {
    const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
    writeFileSync(join(directory, "crash"), "");
    await ended;
  };
  return {
    url: urlOf(directory, port),
    port,
    directory,
    caFile: join(directory, "ca.pem"),
    crash,
    start: async () => {
      server = await launch(directory, process.pid, port);
    },
    remove: async () => {
      if (server.exitCode === null) await crash();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns the path of a client program of PostgreSQL. */
export function postgresTool(name: "pg_basebackup" | "pg_dump" | "psql"): string {
  return findExecutable([name]) ?? name;
}

/**
 * Returns the URL of one server for all test files of a run. The first caller starts it, and it stops with the test
 * runner.
 */
async function sharedServer(): Promise<string> {
  const runner = process.env["NODE_TEST_CONTEXT"] ? process.ppid : process.pid;
  const directory = join(quickPlace(), `postern-postgres-of-${runner}-${startedAt(runner)}`);
  try {
    mkdirSync(directory, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    await accepting(directory);
    return urlOf(directory);
  }
  writeFileSync(join(directory, "server.sh"), serverScript(directory, { isLasting: false, lookSeconds: 1 }));
  (await launch(directory, runner)).unref();
  return urlOf(directory);
}

/** Returns a folder in memory for data of this run, if there is plenty of memory: every database has some 300 files. */
function quickPlace(): string {
  const memory = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(memory);
    accessSync(memory, constants.W_OK);
    return bavail * bsize > 4e9 ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

let fresh: string | undefined;

/** Folder in which this process keeps directories created by `initdb`, each created once. */
function freshDirectories(): string {
  if (fresh === undefined) {
    const made = (fresh = mkdtempSync(join(tmpdir(), "postern-initdb-")));
    own(made);
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  }
  return fresh;
}

/**
 * Sets up the server's directory if it is new, and runs the server. Stops it with the owner, or crashes it on request.
 * Tests crash only servers, never the machine. Therefore the setup does not wait for the disk.
 */
function serverScript(
  directory: string,
  { port, auth, tls, isLasting = true, lookSeconds = 0.1 }: PostgresOptions = {},
): string {
  const authHost = auth ?? "trust";
  const made = join(freshDirectories(), authHost);
  const listens = port === undefined ? "-c listen_addresses=" : `-c listen_addresses=127.0.0.1 -c port=${port}`;
  const writes = isLasting ? "-c fsync=on" : "-c fsync=off -c full_page_writes=off";
  const files = `-c ssl_cert_file='${directory}/server.pem' -c ssl_key_file='${directory}/server.key'`;
  return `
cd '${directory}' || exit 1
if [ ! -d data ]; then
  if [ ! -d '${made}' ]; then
    ${asUser(`'${binaries}/initdb' -N -D new -U postgres --auth-local=trust --auth-host=${authHost} -E UTF8 --locale=C`)} >initdb.log 2>&1 || { touch failed; exit 1; }
    mv new '${made}'
  fi
  cp -a '${made}' data || { touch failed; exit 1; }
fi
rm -f crash
( exec ${asUser(`'${binaries}/postgres' -D data -k '${directory}' ${listens} ${tls ? `-c ssl=on ${files}` : ""} ${writes} -c max_connections=200 -c shared_buffers=32MB`)} ) >>server.log 2>&1 &
while kill -0 "$1" 2>/dev/null && kill -0 $! 2>/dev/null && [ ! -e crash ]; do sleep ${lookSeconds}; done
if [ -e crash ]; then kill -QUIT $!; wait $!; exit 0; fi
kill -INT $! 2>/dev/null; wait $!
rm -rf '${directory}'
`;
}

/** PostgreSQL refuses to run as root. */
function asUser(command: string): string {
  if (process.getuid?.() !== 0) return command;
  const user = unprivilegedUser();
  if (spawnSync("setpriv", ["--version"]).status === 0) {
    return `setpriv --reuid=${user.uid} --regid=${user.gid} --clear-groups ${command}`;
  }
  return `su -s /bin/sh ${user.name} -c 'exec "$0" "$@"' -- ${command}`;
}

function unprivilegedUser(): { readonly name: string; readonly uid: number; readonly gid: number } {
  const entries = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const entry = entries.find(([name]) => name === "postgres") ?? entries.find(([name]) => name === "nobody");
  if (!entry) throw new Error("there is no user to run PostgreSQL as: neither postgres nor nobody exists");
  return { name: entry[0] as string, uid: Number(entry[2]), gid: Number(entry[3]) };
}

async function launch(directory: string, owner: number, port = 5432): Promise<ReturnType<typeof spawn>> {
  own(directory);
  const script = spawn("sh", [join(directory, "server.sh"), String(owner)], { detached: true, stdio: "ignore" });
  await accepting(directory, port);
  return script;
}

/** Gives a file to the user of the PostgreSQL server. */
function own(file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = unprivilegedUser();
  chownSync(file, uid, gid);
}

async function writeCertificate(directory: string): Promise<void> {
  const authority = await createAuthority({ commonName: "Databases", now: Date.now() });
  const leaf = await issueLeaf(authority, { names: ["localhost"], days: 1, now: Date.now() });
  writeFileSync(join(directory, "ca.pem"), authority.certificatePem);
  writeFileSync(join(directory, "server.pem"), leaf.certificatePem);
  writeFileSync(join(directory, "server.key"), leaf.keyPem, { mode: 0o600 });
  own(join(directory, "server.key"));
}

async function accepting(directory: string, port = 5432): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    if (existsSync(join(directory, "failed"))) {
      throw new Error(`initdb failed: ${readFileSync(join(directory, "initdb.log"), "utf8")}`);
    }
    if (existsSync(join(directory, `.s.PGSQL.${port}`))) {
      try {
        return await statement(urlOf(directory, port), "select 1");
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
    if (Date.now() > deadline) throw new Error(`PostgreSQL in ${directory} does not answer`);
    await delay(30);
  }
}

function urlOf(directory: string, port = 5432): string {
  return `postgres://postgres@localhost:${port}/postgres?host=${encodeURIComponent(directory)}`;
}

async function statement(url: string, sql: string): Promise<void> {
  await rowsOf(url, sql);
}

export async function rowsOf(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the start time of the process, to distinguish it from a later process with the same number. */
function startedAt(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
  } catch {
    return "0";
  }
}
