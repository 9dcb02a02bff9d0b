import { compilePolicy } from "../../policy/compile-policy.ts";
import { maxPolicyBytes } from "../../policy/policy-document.ts";
import type { Layer } from "../../policy/language/action.ts";
import { startSimulation } from "../../policy/simulate.ts";
import type { Simulated, SimulatedConnection, SimulatedRequest } from "../../policy/simulate.ts";
import { namedText, text } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { defineCommand } from "../command/command.ts";
import { readPolicyFile } from "../policy/read-policy.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { headerSetting, readHeaders } from "../settings/read-headers.ts";
import { renderFindings } from "../terminal/policy-findings.ts";
import { ruleLines } from "../terminal/policy-rules.ts";

export const policyExplain = defineCommand({
  name: "policy explain",
  doc: "Print what the policy in a file does with a request or connection, rule by rule with the values that decided, without a server. The simulated upstream answers 200. There are no internal endpoints, secrets or IP policies.",
  operands: "FILE METHOD URL|FILE tls://HOST|FILE tcp://HOST:PORT",
  least: 2,
  most: 3,
  settings: {
    header: headerSetting,
    ip: flagOnly(optional("Address of the client (default: 203.0.113.9).", namedText("ADDRESS"))),
    body: flagOnly(optional("Body of the request.", text)),
    json: settings.json,
  },
  examples: [
    "postern policy explain policy.yaml GET https://app.example.com/orders -H 'X-Tier: gold'",
    "postern policy explain policy.yaml tcp://db.example.com:5432 --ip 198.51.100.7",
  ],
  async run({ header, ip, body, json }, [file = "", ...operands]) {
    const [method = "", address = ""] = operands.length === 2 ? operands : ["GET", ...operands];
    const url = URL.parse(address);
    const layer = layerOf(url?.protocol, operands.length);
    if (!url || !layer)
      throw new Failure("usage", `write METHOD and https://…, tls://HOST or tcp://HOST:PORT instead of "${address}"`);
    const source = readPolicyFile(file, maxPolicyBytes);
    const { policy, issues } = compilePolicy(source, layer);
    if (issues.length > 0) {
      process.stderr.write(renderFindings(file, source, { issues, warnings: [] }, process.stderr));
      return exitCodes.refused;
    }
    const request: SimulatedRequest = {
      nowMs: Date.now(),
      method,
      host: url.hostname,
      target: (url.pathname || "/") + url.search,
      headers: Object.entries(readHeaders(header)),
      body: body ?? "",
      visitor: undefined,
      client: ip ?? "203.0.113.9",
      online: new Map(),
      random: 0.5,
      answer: { status: 200, headers: [["content-type", "text/plain"]], body: "up" },
    };
    const place = { layer, host: url.hostname, port: Number(url.port) || 443, secrets: {}, keySets: {} };
    const result = await simulateRequest(() => startSimulation(policy, place), layer, request);
    process.stdout.write(json ? `${JSON.stringify(result)}\n` : renderExplanation(result));
    return exitCodes.fine;
  },
});

async function simulateRequest(
  start: () => ReturnType<typeof startSimulation>,
  layer: Layer,
  request: SimulatedRequest,
): Promise<SimulationResult> {
  try {
    const simulation = start();
    if (layer === "http") {
      const { steps, ...outcome } = await simulation.request(request, true);
      return { steps, outcome };
    }
    const { steps, ...outcome } = await simulation.connection(request, true);
    return { steps, outcome };
  } catch (error) {
    throw new Failure("refused", (error as Error).message, { cause: error });
  }
}

interface SimulationResult {
  readonly steps: Simulated["steps"];
  readonly outcome: Omit<Simulated, "steps"> | Omit<SimulatedConnection, "steps">;
}

function layerOf(protocol: string | undefined, count: number): Layer | undefined {
  if (count === 2) return protocol === "https:" || protocol === "http:" ? "http" : undefined;
  return protocol === "tls:" ? "tls" : protocol === "tcp:" ? "tcp" : undefined;
}

const marks = { passed: "✓", changed: "~", skipped: "·", denied: "✗", answered: "=" } as const;

function renderExplanation({ steps, outcome }: SimulationResult): string {
  const lines = steps.flatMap((step) => [
    `${marks[step.outcome]} ${step.reason}`,
    ...(step.rule ? ruleLines(step.rule, "    ") : []),
  ]);
  return `${[...lines, "", renderOutcome(outcome)].join("\n")}\n`;
}

function renderOutcome(outcome: SimulationResult["outcome"]): string {
  if ("isClosed" in outcome) {
    if (outcome.forwardedTo !== undefined) return `forwarded to ${outcome.forwardedTo}`;
    return outcome.isClosed ? "closed" : "let in";
  }
  const { status, upstream, forwardedTo } = outcome;
  if (forwardedTo !== undefined) return `forwarded to https://${forwardedTo}`;
  if (!upstream) return status === 0 ? "the connection is dropped" : `answered: ${status}`;
  const added = upstream.headers.map(([name, value]) => `    ${name}: ${value}`);
  return [`sent upstream as ${upstream.target}, with`, ...added, `answered: ${status}`].join("\n");
}
