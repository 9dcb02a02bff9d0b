/**
 * Sends webhooks to an inbox while servers, agents and the service are killed, and compares what the service got with
 * what the provider was told. By hand: `node bin/run.js test/support/inbox-model.ts [MESSAGES] [KILLS] [SEED] [DATABASE]`.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts, startCommand } from "./command.ts";
import type { Running } from "./command.ts";
import { freePort } from "./connections.ts";
import { eventually } from "./eventually.ts";
import { sealingKey, startServer } from "./nodes.ts";
import type { ServerNode } from "./nodes.ts";
import { seededRandom } from "./random.ts";
import { startHttpService } from "./services.ts";

export interface InboxModelOptions {
  readonly messages: number;
  readonly kills: number;
  readonly seed?: number;
  /** URL of a PostgreSQL database, for two servers. Default: one server on SQLite. */
  readonly database?: string;
}

export interface InboxModelResult {
  /** Messages whose provider got a 2xx. */
  readonly accepted: number;
  /** Deliveries beyond the first one of each message. */
  readonly duplicates: number;
  /** Refused or cut requests, which the provider repeated. */
  readonly repeated: number;
}

const host = "model.example.com";
const lines = 8;
const apiKey = "chosen-api-key-of-the-model-0123456789";
const authtoken = "chosen-authtoken-of-the-model-0123456789";

interface Place {
  readonly env: Record<string, string>;
  readonly data: string;
  server: ServerNode;
  agent: Running;
  isUp: boolean;
}

/** Throws `AssertionError` if a message was lost, or if a line lost its order. */
export async function runInboxModel({
  messages,
  kills,
  seed = 1,
  database,
}: InboxModelOptions): Promise<InboxModelResult> {
  const random = seededRandom(seed);
  const firsts = new Map<number, number[]>();
  const seen = new Set<string>();
  let duplicates = 0;
  let repeated = 0;
  const service = await startHttpService((request, response) => {
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      const { id, line, at } = JSON.parse(text) as { id: string; line: number; at: number };
      if (seen.has(id)) duplicates += 1;
      else firsts.set(line, [...(firsts.get(line) ?? []), at]);
      seen.add(id);
      response.end();
    });
  });
  const startAgent = async (place: Pick<Place, "server" | "data">): Promise<Running> => {
    const trusted = join(place.data, "trusted.pem");
    writeFileSync(trusted, place.server.agents.ca);
    const file = join(place.data, "agent.yml");
    const { port } = place.server.agents;
    const tunnel = `model: { proto: http, addr: ${service.port}, labels: ["app=model"] }`;
    writeFileSync(file, `server: 127.0.0.1:${port}\nca: trusted.pem\nauthtoken: ${authtoken}\ntunnels:\n  ${tunnel}\n`);
    // As a service manager runs it: `postern http` ends if a kill prevents its first connection.
    return startCommand(["start", "--all", "--config", file, "--inspector", "off"]);
  };
  const start = (env: Record<string, string>, data: string): Promise<ServerNode> =>
    startServer([...(database === undefined ? [] : ["--cluster"]), "--data", data], apiKey, env);
  const open = async (): Promise<Place> => {
    const [https, agent, api] = [await freePort(), await freePort(), await freePort()];
    const env = {
      ...freePorts,
      POSTERN_API_LISTEN: `127.0.0.1:${api}`,
      POSTERN_HTTPS_LISTEN: `127.0.0.1:${https}`,
      POSTERN_AGENT_LISTEN: `127.0.0.1:${agent}`,
      POSTERN_BOOTSTRAP_API_KEY: apiKey,
      POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken,
      POSTERN_SEALING_KEY: sealingKey,
      ...(database !== undefined && { POSTERN_DATABASE: database }),
    };
    const data = mkdtempSync(join(tmpdir(), "postern-inbox-model-"));
    const server = await start(env, data);
    return { env, data, server, agent: await startAgent({ server, data }), isUp: true };
  };
  const places = [await open(), ...(database === undefined ? [] : [await open()])];
  const [first] = places as [Place];
  const call = async (method: string, path: string, body?: unknown) => {
    const reply = await first.server.call(method, path, body);
    assert.ok(reply.status < 300, reply.text);
    return reply.body;
  };
  const edge = await call("POST", "/edges/https", { hostports: [`${host}:443`] });
  const backend = await call("POST", "/backends/tunnel_group", { labels: { app: "model" } });
  await call("POST", `/edges/https/${String(edge["id"])}/routes`, {
    match_type: "path_prefix",
    match: "/",
    backend: { backend_id: backend["id"] },
    inbox: {
      order_by: "string(json.decode(body).line)",
      dedupe: "json.decode(body).id",
      first_retry_seconds: 1,
      max_retry_seconds: 1,
      max_attempts: 100,
    },
  });

  let accepted = 0;
  /** Repeats the webhook until a server acknowledges it, as providers do. */
  const send = async (line: number, at: number): Promise<void> => {
    const body = JSON.stringify({ id: `${line}-${at}`, line, at });
    for (;;) {
      const up = places.filter(({ isUp }) => isUp);
      const answer = await (
        up.length === 0
          ? Promise.reject(new Error("no server"))
          : random.pick(up).server.ask("h1", { host, method: "POST", path: "/hook", body })
      ).catch(() => undefined);
      if (answer?.status === 202) break;
      repeated += 1;
      await delay(50);
    }
    accepted += 1;
  };
  const perLine = Math.ceil(messages / lines);
  const sending = Array.from({ length: lines }, async (_one, line) => {
    for (let at = 0; at < perLine; at += 1) await send(line, at);
  });
  const killing = (async () => {
    for (let kill = 1; kill <= kills; kill += 1) {
      // One after the other over the whole run: by the number of messages, not by time.
      const due = Math.floor((kill * lines * perLine) / (kills + 1));
      await eventually(
        () => accepted,
        (count) => count >= due,
      );
      const place = random.pick(places);
      const victim = random.pick(["server", "agent", "service"] as const);
      if (victim === "service") service.server.closeAllConnections();
      else if (victim === "agent") {
        await place.agent.end("SIGKILL");
        place.agent = await startAgent(place);
      } else {
        place.isUp = false;
        await place.server.end("SIGKILL");
        place.server = await start(place.env, place.data);
        place.isUp = true;
      }
    }
  })();
  try {
    await Promise.all([...sending, killing]);
    const all = eventually(
      () => seen.size,
      (count) => count === lines * perLine,
      50,
    );
    await all.catch(async (cause: unknown) => {
      throw new Error(`deliver all webhooks: ${await stateOf(places)}`, { cause });
    });
    for (const [line, got] of firsts) {
      assert.deepEqual(
        got,
        Array.from({ length: perLine }, (_one, at) => at),
        `order of line ${line}`,
      );
    }
    return { accepted, duplicates, repeated };
  } finally {
    for (const place of places) {
      await place.agent.end("SIGKILL");
      await place.server.end("SIGKILL");
      rmSync(place.data, { recursive: true, force: true });
    }
    await service.stop();
  }
}

/** Returns what explains a delivery that does not happen. */
async function stateOf(places: readonly Place[]): Promise<string> {
  const shown = places.map(async ({ server, agent }) => {
    const paths = ["/tunnels", ...["waiting", "sending", "blocked"].map((state) => `/inbox_messages?state=${state}`)];
    const replies = await Promise.all(
      paths.map((path) => server.call("GET", `${path}${path.includes("?") ? "&" : "?"}limit=10`)),
    );
    const { exitCode } = agent.process;
    return [
      `agent: exit code ${exitCode}, ${agent.stderr()}`,
      ...replies.map(({ text }, at) => `${paths[at]}: ${text}`),
    ];
  });
  return (await Promise.all(shown)).flat().join("\n");
}

const own = process.argv.findIndex((word) => word.endsWith("support/inbox-model.ts"));
if (own >= 0) {
  const [messages = "10000", kills = "60", seed = "1", database] = process.argv.slice(own + 1);
  const result = await runInboxModel({
    messages: Number(messages),
    kills: Number(kills),
    seed: Number(seed),
    ...(database !== undefined && { database }),
  });
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
