import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseServerAddress } from "../agent/connect.ts";
import { parseUpstream } from "../agent/upstream.ts";
import { startAgent } from "../agent/agent.ts";
import type { AgentOptions } from "../agent/agent.ts";
import { hostOfUrl } from "../agent/publication.ts";
import type { Publication } from "../agent/publication.ts";
import { systemClock } from "../lib/clock.ts";
import { agentFailure } from "./agent-failure.ts";
import { liveView, plainView } from "./agent-view.ts";
import { defineCommand } from "./command.ts";
import { dataFiles, readPublic } from "./data-directory.ts";
import { Failure } from "./exit.ts";
import { findServer, localAuthtoken } from "./local-server.ts";
import { openLog } from "./log-output.ts";
import type { ValuesOf } from "./setting.ts";
import { settings } from "./settings.ts";
import { interrupted } from "./signals.ts";
import { posternVersion } from "./version.ts";

const own = {
  config: settings.config,
  url: settings.url,
  label: settings.label,
  metadata: settings.metadata,
  server: settings.server,
  ca: settings.ca,
  authtoken: settings.authtoken,
  data: settings.data,
  logLevel: settings.logLevel,
  logFormat: settings.logFormat,
  json: settings.json,
} as const;

export const http = defineCommand({
  name: "http",
  doc: "Publish a local HTTP service: connects out to the server, and forwards what comes in at the public URL. Without --server it uses the server that runs here.",
  operands: "PORT|HOST:PORT|URL",
  least: 1,
  most: 1,
  settings: own,
  examples: [
    "postern http 3000",
    "postern http 3000 --url https://app.t.example.com --server t.example.com:4443",
    "postern http localhost:3000 --label app=web --label dc=eu",
  ],
  async run(values, [target = ""]) {
    const options = agentOptions(values, target);
    const log = openLog({
      level: values.logLevel,
      format: values.logFormat ?? (process.stderr.isTTY ? "text" : "json"),
    });
    const stopped = interrupted();
    const view = process.stdout.isTTY && !values.json ? liveView(options, log) : plainView(options, log, values.json);
    const agent = startAgent({
      ...options,
      clock: systemClock,
      log: view.log,
      random: Math.random,
      retryFirst: false,
      request: view.request,
      status: view.status,
    });
    const end = await Promise.race([stopped, agent.ended]);
    if (typeof end === "number") await agent.close();
    view.close();
    if (typeof end === "number") return end;
    throw agentFailure(end, options.server);
  },
});

/** What the agent says of itself, from the settings. Throws `Failure` (usage). */
function agentOptions(
  values: ValuesOf<typeof own>,
  target: string,
): Pick<AgentOptions, "server" | "ca" | "token" | "upstream" | "metadata" | "publish" | "version"> {
  const directory = resolve(values.data);
  const local = values.server === undefined ? findServer(directory) : undefined;
  const server = values.server ?? local?.agentAddress;
  if (server === undefined) {
    throw new Failure(
      "usage",
      `no server: name one with --server HOST:PORT, or start one here with \`postern serve\` (its data directory would be "${directory}", see --data)`,
    );
  }
  const token = values.authtoken ?? localAuthtoken(directory);
  if (token === undefined) {
    throw new Failure("usage", "no agent token: give one with POSTERN_AUTHTOKEN or --token-file");
  }
  return {
    server: named("--server", () => parseServerAddress(server)),
    upstream: named(`"${target}"`, () => parseUpstream(target)),
    ca: readCa(values.ca, directory),
    token,
    metadata: values.metadata,
    publish: publication(values.url, values.label),
    version: posternVersion(),
  };
}

function publication(url: string | undefined, labels: readonly string[]): Publication {
  if (labels.length === 0) {
    if (url !== undefined) named("--url", () => hostOfUrl(url));
    return { kind: "url", url };
  }
  if (url !== undefined)
    throw new Failure(
      "usage",
      "--url and --label exclude each other: a labelled tunnel has the addresses of the edges in front of it",
    );
  const pairs = labels.map((label) => {
    const at = label.indexOf("=");
    if (at < 1 || at === label.length - 1) throw new Failure("usage", `--label must be NAME=VALUE: "${label}"`);
    return [label.slice(0, at), label.slice(at + 1)] as const;
  });
  return { kind: "labels", labels: Object.fromEntries(pairs) };
}

function readCa(given: string | undefined, directory: string): string | undefined {
  if (given === "system") return undefined;
  if (given === undefined) return readPublic(directory, dataFiles.caCertificate);
  try {
    return readFileSync(given, "utf8");
  } catch (error) {
    throw new Failure("usage", `--ca: cannot read "${given}": ${(error as Error).message}`, { cause: error });
  }
}

function named<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Failure("usage", `${what} ${(error as Error).message}`, { cause: error });
  }
}
