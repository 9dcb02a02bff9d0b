import { writeSync } from "node:fs";
import { count } from "../../settings/kinds/number.ts";
import { hostAndPort } from "../../settings/kinds/address.ts";
import { named } from "../../settings/kinds/text.ts";
import { flagOnly, many, one, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import type { ChaosNode } from "../chaos/nodes.ts";
import { faultsOf } from "../chaos/nodes.ts";
import { runChaos } from "../chaos/run.ts";
import type { ChaosReport } from "../chaos/run.ts";
import { defineCommand } from "../command/command.ts";
import { trustedAuthorities } from "../data/trusted-authorities.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { columnsOf, renderHead, renderRow } from "../terminal/table.ts";

const command = (doc: string): ReturnType<typeof flagOnly<string | undefined>> =>
  flagOnly(optional(doc, named("COMMAND")));

export const chaos = defineCommand({
  name: "chaos",
  doc: "Stop, kill and pause the nodes of a staging cluster one after the other while visitors send requests, and report failed requests. Exits with code 1 if a request failed.",
  operands: "URL",
  least: 1,
  most: 1,
  settings: {
    node: flagOnly(many("Node and the URL of its readiness check; repeatable.", named("NAME=URL"))),
    stop: command("Shell command that stops the node `$NODE` and waits for its end."),
    start: command("Shell command that starts the node `$NODE`."),
    kill: command("Shell command that kills the node `$NODE`."),
    pause: command("Shell command that suspends the node `$NODE`."),
    resume: command("Shell command that resumes the node `$NODE`."),
    connect: flagOnly(optional("Address of the load balancer (default: the URL's).", hostAndPort)),
    websocket: flagOnly(optional("Path of a service that returns WebSocket messages.", named("PATH"))),
    rounds: flagOnly(one("Number of rounds over all nodes.", count("rounds"), { default: "1" })),
    visitors: flagOnly(one("Number of visitors of each kind.", count("visitors", 1, 1000), { default: "2" })),
    think: flagOnly(one("Pause of a visitor between two requests.", count("milliseconds", 0), { default: "20" })),
    down: flagOnly(one("Time for which a node is stopped or paused.", count("seconds", 0), { default: "5" })),
    settle: flagOnly(one("Time between a node's return and the next fault.", count("seconds", 0), { default: "10" })),
    ca: settings.ca,
    json: settings.json,
  },
  examples: [
    "postern chaos https://shop.example.com/ --node a=http://10.0.0.1:4700/readyz --node b=http://10.0.0.2:4700/readyz --stop 'ssh $NODE systemctl stop postern' --start 'ssh $NODE systemctl start postern'",
  ],
  async run(given, [address = ""]) {
    const url = URL.parse(address);
    if (url?.protocol !== "https:") throw new Failure("usage", `the URL must begin with https://: "${address}"`);
    const commands = given;
    if (faultsOf(commands).length === 0)
      throw new Failure("usage", "nothing to do: give --stop and --start, --kill and --start, or --pause and --resume");
    const report = await runChaos({
      target: {
        url,
        host: given.connect?.host ?? url.hostname,
        port: given.connect?.port ?? Number(url.port || 443),
        ca: trustedAuthorities(given.ca, undefined),
        websocketPath: given.websocket,
        thinkMs: given.think,
      },
      nodes: nodesOf(given.node),
      commands,
      rounds: given.rounds,
      visitors: given.visitors,
      downMs: given.down * 1000,
      settleMs: given.settle * 1000,
      told: (line) => void writeSync(2, `${line}\n`),
    });
    process.stdout.write(given.json ? `${JSON.stringify(report)}\n` : rendered(report));
    return report.failures === 0 ? exitCodes.fine : exitCodes.unexpected;
  },
});

function nodesOf(given: readonly string[]): readonly ChaosNode[] {
  if (given.length === 0) throw new Failure("usage", "name each node with --node NAME=URL");
  return given.map((text) => {
    const equals = text.indexOf("=");
    const ready = URL.parse(text.slice(equals + 1));
    if (equals < 1 || ready === null)
      throw new Failure("usage", `--node must be NAME=URL with the URL of /readyz, not "${text}"`);
    return { name: text.slice(0, equals), ready };
  });
}

function rendered(report: ChaosReport): string {
  const rows = report.kinds.map(({ causes, ...kind }) => ({
    ...kind,
    causes: Object.entries(causes)
      .map(([cause, times]) => `${times} × ${cause}`)
      .join(", "),
  }));
  const columns = columnsOf(rows);
  const { stop, kill, pause } = report.faults;
  const lines = report.first_failures.map(({ at, kind, cause }) => `${at} ${kind}: ${cause}\n`);
  return [
    `${report.failures} of ${report.requests} requests failed in ${report.seconds} s (${stop} stops, ${kill} kills, ${pause} pauses; longest gap ${report.longest_gap_ms} ms)\n`,
    `${renderHead(columns)}\n`,
    ...rows.map((row) => `${renderRow(row, columns)}\n`),
    ...lines,
  ].join("");
}
