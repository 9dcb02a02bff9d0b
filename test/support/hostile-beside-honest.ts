/**
 * Hostile visitors beside honest ones, on an edge with logins, policies and every module: `node
 * test/support/hostile-beside-honest.ts [--seconds N] [--seed N] [--families A,B] [--full-priority]`. For half of the time the honest
 * visitors are alone. Honest and hostile visitors run in separate threads, so that only the edge can delay them. The
 * last line reports how long honest requests took in both halves and how many failed. For each family it also reports
 * what was sent, and the CPU time of the edge's thread. Run it for an hour with `--seconds 3600`. Hostile visitors have
 * the lowest priority of the processor, because they have computers of their own; `--full-priority` changes that on a
 * machine that is too busy to run them.
 */
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { Agent, request as requestHttps } from "node:https";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import type { IncomingMessage } from "node:http";
import { constants, setPriority } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { host, startBusyEdge } from "./busy-edge.ts";
import type { BusyEdge } from "./busy-edge.ts";
import { hostileFamilies } from "./hostile-families.ts";
import { askOver } from "./http-client.ts";
import { mutate } from "./mutations.ts";
import { seededRandom } from "./random.ts";

interface Given {
  readonly role: "honest" | "hostile";
  readonly ports: { readonly https: number; readonly http: number; readonly agent: number };
  readonly ca: string;
  readonly token: string;
  readonly seed: number;
  /** Names of families; empty for all of them. */
  readonly families: readonly string[];
  readonly hasFullPriority: boolean;
}

/** What honest visitors saw since the last report. */
interface Seen {
  /** Milliseconds, ascending. */
  readonly took: readonly number[];
  readonly failures: readonly string[];
}

type Sent = Readonly<Record<string, { readonly inputs: number; readonly bytes: number }>>;
type Put = Parameters<BusyEdge["edge"]["put"]>[0];

const honestPaths = ["/", "/static", "/policy/honest", "/fixed"];
const honestConnections = 4;
/** Pause between two requests of a visitor, milliseconds. */
const pauseMs = 5;
const hostileConnections = 4;

if (isMainThread) await report();
else if ((workerData as Given).role === "honest") await beHonest(workerData as Given);
else await beHostile(workerData as Given);

async function report(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "60" },
      seed: { type: "string", default: "1" },
      families: { type: "string", default: "" },
      "full-priority": { type: "boolean", default: false },
    },
  });
  const escaped: string[] = [];
  process.on("uncaughtException", (error) => escaped.push(error.stack ?? String(error)));
  process.on("unhandledRejection", (error) => escaped.push(String(error)));
  const busy = await startBusyEdge();
  await busy.ready();
  const { edge, authority } = busy.edge;
  const ports = { https: edge.https.port, http: edge.http?.port ?? 0, agent: edge.agent.port };
  const given = {
    ports,
    ca: authority.certificatePem,
    token: busy.token,
    seed: Number(values.seed),
    families: values.families.split(",").filter((name) => name !== ""),
    hasFullPriority: values["full-priority"],
  };
  const start = async (role: Given["role"]): Promise<Worker> => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { ...given, role } satisfies Given });
    worker.on("error", (error: Error) => escaped.push(`${role}: ${error.stack}`));
    await once(worker, "message");
    return worker;
  };
  const asked = async <Answer>(worker: Worker): Promise<Answer> => {
    const answered = once(worker, "message");
    worker.postMessage("ask");
    const [answer] = (await answered) as [Answer];
    return answer;
  };
  const halfMs = Number(values.seconds) * 500;
  /** Waits, and returns the CPU time of this thread in the meantime, microseconds. */
  const pass = async (): Promise<number> => {
    const before = process.threadCpuUsage();
    for (let left = halfMs; left > 0; left -= 5000) {
      await delay(Math.min(left, 5000));
      process.stdout.write(`${JSON.stringify({ left, escaped: escaped.length })}\n`);
    }
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  };
  const honest = await start("honest");
  await delay(500);
  await asked<Seen>(honest);
  const aloneUs = await pass();
  const alone = await asked<Seen>(honest);
  const hostile = await start("hostile");
  hostile.on("message", (message: { readonly put?: Put }) => {
    if (!message.put) return;
    busy.edge.put(message.put);
    const { revision } = busy.edge;
    busy.edge
      .report((one) => one.type === "applied" && one.revision === revision)
      .then(
        () => hostile.postMessage("put"),
        (error: unknown) => escaped.push(String(error)),
      );
  });
  const besideUs = await pass();
  const beside = await asked<Seen>(honest);
  const sent = await sentBy(hostile);
  await busy.ready();
  const bytes = Object.values(sent).reduce((sum, one) => sum + one.bytes, 0);
  const [before, after] = [timesOf(alone), timesOf(beside)];
  const line = {
    alone: before,
    beside: after,
    timesP99: Number((after.p99 / before.p99).toFixed(2)),
    failures: [...alone.failures, ...beside.failures].slice(0, 10),
    escaped,
    hostile: sent,
    usPerByte: Number(((besideUs - aloneUs) / bytes).toFixed(3)),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  process.exit(0);
}

/** The message with the result, among the others. */
async function sentBy(hostile: Worker): Promise<Sent> {
  hostile.postMessage("ask");
  for (;;) {
    const [message] = (await once(hostile, "message")) as [{ readonly sent?: Sent }];
    if (message.sent) return message.sent;
  }
}

function timesOf({ took, failures }: Seen) {
  const at = (share: number): number => Number((took[Math.floor(took.length * share)] ?? 0).toFixed(2));
  return { requests: took.length, failed: failures.length, p50: at(0.5), p99: at(0.99), most: at(0.9999) };
}

async function beHonest({ ports, ca }: Given): Promise<void> {
  let took: number[] = [];
  let failures: string[] = [];
  const visit = async (ask: (path: string) => Promise<number>): Promise<never> => {
    for (let count = 0; ; count += 1) {
      const path = honestPaths[count % honestPaths.length] as string;
      const began = performance.now();
      const status = await ask(path).catch((error: unknown) => String(error));
      took.push(performance.now() - began);
      if (status !== (path === "/fixed" ? 418 : 200)) failures.push(`${path}: ${status}`);
      await delay(pauseMs);
    }
  };
  let session: ClientHttp2Session | undefined;
  const agent = new Agent({ ca, keepAlive: true, maxSockets: honestConnections });
  for (let count = 0; count < honestConnections; count += 1) visit(overHttp1).catch(fail);
  visit(overHttp2).catch(fail);
  parentPort?.on("message", () => {
    parentPort?.postMessage({ took: took.sort((a, b) => a - b), failures } satisfies Seen);
    [took, failures] = [[], []];
  });
  parentPort?.postMessage("ready");

  async function overHttp1(path: string): Promise<number> {
    const request = requestHttps({
      agent,
      host: "127.0.0.1",
      port: ports.https,
      servername: host,
      path,
      headers: { host },
    });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await once(response.resume(), "end");
    return response.statusCode ?? 0;
  }

  async function overHttp2(path: string): Promise<number> {
    // The edge closes connections of a certain age.
    if (session === undefined || session.closed) {
      session = connectHttp2(`https://127.0.0.1:${ports.https}`, { ca, servername: host }).on("error", () => {});
    }
    const stream = session.request({ ":path": path, ":authority": host });
    const [head] = (await once(stream, "response")) as [{ readonly ":status": number }];
    await once(stream.resume(), "end");
    return head[":status"];
  }
}

async function beHostile({ ports, ca, token, seed, families: names, hasFullPriority }: Given): Promise<void> {
  if (!hasFullPriority) lowerPriority();
  const puts: (() => void)[] = [];
  const edge = {
    edge: { https: { port: ports.https }, http: { port: ports.http }, agent: { port: ports.agent } },
    authority: { certificatePem: ca },
    revision: 0,
    put: (put: Put) => parentPort?.postMessage({ put }),
    report: () => new Promise<void>((done) => puts.push(done)),
  };
  const busy = {
    edge,
    token,
    async ask(protocol: "h1" | "h2", options: object) {
      return (await askOver(protocol, ports.https, ca, { host, ...options })).text;
    },
  } as unknown as BusyEdge;
  const families = Object.entries(await hostileFamilies(busy)).filter(
    ([name]) => names.length === 0 || names.includes(name),
  );
  const sent: Record<string, { inputs: number; bytes: number }> = {};
  const attack = async (at: number): Promise<never> => {
    const random = seededRandom(seed + at);
    for (;;) {
      const [name, family] = random.pick(families);
      const input = family.make?.(random) ?? mutate(random.pick(family.seeds), family.seeds, random);
      await family.send(input).catch(() => {});
      const counts = (sent[name] ??= { inputs: 0, bytes: 0 });
      counts.inputs += 1;
      counts.bytes += input.length;
    }
  };
  parentPort?.on("message", (message) => {
    if (message === "put") puts.shift()?.();
    else parentPort?.postMessage({ sent });
  });
  parentPort?.postMessage("ready");
  for (let at = 0; at < hostileConnections; at += 1) attack(at).catch(fail);
}

/** Lowers the priority of this thread, on Linux. */
function lowerPriority(): void {
  if (process.platform !== "linux") return;
  const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
  setPriority(thread, constants.priority.PRIORITY_LOW);
}

function fail(error: unknown): never {
  throw error;
}
