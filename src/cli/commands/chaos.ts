import { writeSync } from "node:fs";
import { countKind } from "../../settings/kinds/number.ts";
import { hostAndPort } from "../../settings/kinds/address.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, many, one, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import type { ChaosNode, Fault } from "../chaos/chaos-nodes.ts";
import { runChaos } from "../chaos/run-chaos.ts";
import type { ChaosReport } from "../chaos/run-chaos.ts";
import { policyWrites } from "../chaos/test-writes.ts";
import { apiSettings, openApi } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { readTrustedAuthorities } from "../data/trusted-authorities.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { columnsOf, renderHead, renderRow } from "../terminal/text-table.ts";

const commandSetting = (doc: string): ReturnType<typeof flagOnly<string | undefined>> =>
  flagOnly(optional(doc, namedText("COMMAND")));

export const chaos = defineCommand({
  name: "chaos",
  doc: "Stop, kill, pause and cut off the nodes of a staging cluster one after the other while visitors send requests, and report failed requests and lost writes. Exits with code 1 if a request failed or a write was lost.",
  operands: "URL",
  least: 1,
  most: 1,
  settings: {
    node: flagOnly(many("Node and the URL of its readiness check; repeatable.", namedText("NAME=URL"))),
    stop: commandSetting("Shell command that stops the node `$NODE` and waits for its end."),
    start: commandSetting("Shell command that starts the node `$NODE`."),
    kill: commandSetting("Shell command that kills the node `$NODE`."),
    pause: commandSetting("Shell command that suspends the node `$NODE`."),
    resume: commandSetting("Shell command that resumes the node `$NODE`."),
    cut: flagOnly(
      many(
        "Shell command that cuts the node `$NODE` off, and a name for the fault, such as `database` or `peers`; repeatable.",
        namedText("NAME=COMMAND"),
      ),
    ),
    heal: flagOnly(many("Shell command that ends the fault of `--cut` with the same name.", namedText("NAME=COMMAND"))),
    connect: flagOnly(optional("Address of the load balancer (default: the URL's).", hostAndPort)),
    websocket: flagOnly(optional("Path of a service that returns WebSocket messages.", namedText("PATH"))),
    rounds: flagOnly(one("Number of rounds over all nodes.", countKind("rounds"), { default: "1" })),
    visitors: flagOnly(one("Number of visitors of each kind.", countKind("visitors", 1, 1000), { default: "2" })),
    think: flagOnly(one("Pause of a visitor between two requests.", countKind("milliseconds", 0), { default: "20" })),
    down: flagOnly(one("Time for which a node is stopped or paused.", countKind("seconds", 0), { default: "5" })),
    settle: flagOnly(
      one("Time between a node's return and the next fault.", countKind("seconds", 0), { default: "10" }),
    ),
    ca: settings.ca,
    json: settings.json,
    ...apiSettings,
  },
  examples: [
    "postern chaos https://shop.example.com/ --node a=http://10.0.0.1:4700/readyz --node b=http://10.0.0.2:4700/readyz --stop 'ssh $NODE systemctl stop postern' --start 'ssh $NODE systemctl start postern'",
  ],
  async run(given, [address = ""]) {
    const url = URL.parse(address);
    if (url?.protocol !== "https:") throw new Failure("usage", `the URL must begin with https://: "${address}"`);
    const faults = [...defaultFaults(given), ...cutsOf(given.cut, given.heal)];
    if (faults.length === 0)
      throw new Failure(
        "usage",
        "nothing to do: give --stop and --start, --kill and --start, --pause and --resume, or --cut and --heal",
      );
    const report = await runChaos({
      target: {
        url,
        host: given.connect?.host ?? url.hostname,
        port: given.connect?.port ?? Number(url.port || 443),
        ca: readTrustedAuthorities(given.ca, undefined),
        websocketPath: given.websocket,
        thinkMs: given.think,
      },
      nodes: nodesOf(given.node),
      faults,
      writes: given.apiUrl === undefined ? undefined : policyWrites(await openApi(given)),
      rounds: given.rounds,
      visitors: given.visitors,
      downMs: given.down * 1000,
      settleMs: given.settle * 1000,
      told: (line) => void writeSync(2, `${line}\n`),
    });
    process.stdout.write(given.json ? `${JSON.stringify(report)}\n` : renderReport(report));
    const isFine = report.failures === 0 && (report.writes?.lost ?? 0) === 0;
    return isFine ? exitCodes.fine : exitCodes.unexpected;
  },
});

/** Returns the faults for which the operator has given both commands. */
function defaultFaults(
  commands: Readonly<Record<"stop" | "start" | "kill" | "pause" | "resume", string | undefined>>,
): Fault[] {
  const { stop, start, kill, pause, resume } = commands;
  const pairs = [
    ["stop", stop, start],
    ["kill", kill, start],
    ["pause", pause, resume],
  ] as const;
  return pairs.flatMap(([name, begin, end]) =>
    begin === undefined || end === undefined ? [] : [{ name, begin, end }],
  );
}

function cutsOf(cuts: readonly string[], heals: readonly string[]): readonly Fault[] {
  const ends = new Map(heals.map((text) => splitAtEquals("heal", text)));
  return cuts.map((text) => {
    const [name, begin] = splitAtEquals("cut", text);
    const end = ends.get(name);
    if (end === undefined) throw new Failure("usage", `--cut ${name}=… needs --heal ${name}=COMMAND`);
    return { name: `cut ${name}`, begin, end };
  });
}

function splitAtEquals(flag: string, text: string): readonly [string, string] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new Failure("usage", `--${flag} must be NAME=COMMAND, not "${text}"`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}

function nodesOf(texts: readonly string[]): readonly ChaosNode[] {
  if (texts.length === 0) throw new Failure("usage", "name each node with --node NAME=URL");
  return texts.map((text) => {
    const equals = text.indexOf("=");
    const ready = URL.parse(text.slice(equals + 1));
    if (equals < 1 || ready === null)
      throw new Failure("usage", `--node must be NAME=URL with the URL of /readyz, not "${text}"`);
    return { name: text.slice(0, equals), ready };
  });
}

function renderReport(report: ChaosReport): string {
  const rows = report.kinds.map(({ causes, ...kind }) => ({
    ...kind,
    causes: Object.entries(causes)
      .map(([cause, times]) => `${times} × ${cause}`)
      .join(", "),
  }));
  const columns = columnsOf(rows);
  const faults = Object.entries(report.faults).map(([name, times]) => `${times} × ${name}`);
  const { writes } = report;
  const lines = report.first_failures.map(({ at, kind, cause }) => `${at} ${kind}: ${cause}\n`);
  return [
    `${report.failures} of ${report.requests} requests failed in ${report.seconds} s (${faults.join(", ")}; longest gap ${report.longest_gap_ms} ms)\n`,
    writes === undefined
      ? ""
      : `${writes.lost} of ${writes.acknowledged} acknowledged writes were lost, ${writes.refused} were refused (longest gap ${writes.longest_gap_ms} ms)\n`,
    `${renderHead(columns)}\n`,
    ...rows.map((row) => `${renderRow(row, columns)}\n`),
    ...lines,
  ].join("");
}
