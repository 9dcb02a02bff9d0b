import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { styleText } from "node:util";
import { parseServerAddress } from "../agent/connect.ts";
import { parseUpstream } from "../agent/upstream.ts";
import { startAgent } from "../agent/agent.ts";
import type { AgentOptions, AgentStatus } from "../agent/agent.ts";
import { hostOfUrl } from "../agent/publication.ts";
import type { Publication } from "../agent/publication.ts";
import { systemClock } from "../lib/clock.ts";
import { agentFailure } from "./agent-failure.ts";
import { defineCommand } from "./command.ts";
import { dataFiles, readPublic } from "./data-directory.ts";
import { Failure } from "./exit.ts";
import { findServer, localAuthtoken } from "./local-server.ts";
import { openLog } from "./log-output.ts";
import { makeRequestLog } from "./request-log.ts";
import { openScreen } from "./screen.ts";
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
    const screen = process.stdout.isTTY && !values.json ? openScreen(process.stdout, systemClock) : undefined;
    const requests = makeRequestLog(log, systemClock);
    let announced = "";
    const agent = startAgent({
      ...options,
      clock: systemClock,
      log,
      random: Math.random,
      retryFirst: false,
      request: (request) => (screen ? screen.request({ ...request, at: Date.now() }) : requests.add(request)),
      status(status) {
        if (screen) {
          screen.show({ title: `postern http ${options.upstream.text}`, rows: statusRows(status, options) });
          return;
        }
        if (status.state !== "online") {
          if (status.state === "waiting") log.warn("disconnected", { reason: status.reason, retryMs: status.pauseMs });
          return;
        }
        const line = forwardingLine(status.url, options);
        log.info("online", { latencyMs: status.latencyMs });
        if (line === announced) return;
        announced = line;
        process.stdout.write(
          values.json ? `${JSON.stringify({ url: status.url ?? null, to: options.upstream.text })}\n` : `${line}\n`,
        );
      },
    });
    const code = await Promise.race([interrupted(), agent.ended]);
    if (typeof code === "number") await agent.close();
    screen?.close();
    if (typeof code === "number") return code;
    throw agentFailure(code, options.server);
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

function forwardingLine(url: string | undefined, options: Pick<AgentOptions, "publish" | "upstream">): string {
  const labels = options.publish.kind === "labels" ? Object.entries(options.publish.labels) : [];
  return `${url ?? labels.map(([name, value]) => `${name}=${value}`).join(",")} → ${options.upstream.text}`;
}

function statusRows(
  status: AgentStatus,
  options: Pick<AgentOptions, "publish" | "upstream" | "server">,
): [label: string, value: string][] {
  const server = `${options.server.host}:${options.server.port}`;
  if (status.state === "online") {
    return [
      [
        "Status",
        `${styleText("green", "online")}, ${status.latencyMs < 1 ? "<1" : Math.round(status.latencyMs)} ms to the server`,
      ],
      ["Server", server],
      ["Forwarding", styleText("bold", forwardingLine(status.url, options))],
    ];
  }
  const state =
    status.state === "connecting"
      ? styleText("yellow", "connecting")
      : `${styleText("yellow", "offline")}: ${status.reason}; next try in ${Math.ceil(status.pauseMs / 1000)} s`;
  return [
    ["Status", state],
    ["Server", server],
  ];
}
