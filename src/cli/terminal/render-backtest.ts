/** Formats the results of a backtest for people. */
import { toVisibleLines } from "../../lib/visible-text.ts";
import { styleFor as styled } from "./guarded-output.ts";
import type { Backtest } from "../../../sdk/src/index.ts";

type Example = Backtest["examples"][number];
type ReportedDecision = Example["before"];
type Difference = keyof Backtest["differences"];

const names: Readonly<Record<Difference, string>> = {
  allowed_to_denied: "newly denied",
  denied_to_allowed: "newly allowed",
  other_route: "another route",
  other_backend: "another backend",
  other_status: "another status",
  other_headers: "another URL, header field or response",
};

/** Maximum number of examples of each difference. */
const maxExamples = 3;

/** Ends with a line break. `output` decides whether colours are used. */
export function renderBacktest(backtest: Backtest, output: NodeJS.WritableStream): string {
  const found = toVisibleLines(backtest);
  const { tried, same, unknown, differences, first_request_at: first, last_request_at: last } = found;
  if (tried === 0) return renderNoRequests(found);
  const lines = [`${renderNumber(tried, "request")} tried, from ${first} to ${last}.`, ""];
  const rows: [number, string][] = [[same, "the same"]];
  for (const [name, text] of Object.entries(names)) {
    const number = differences[name as Difference];
    if (number > 0) rows.push([number, text]);
  }
  if (unknown > 0) rows.push([unknown, "unknown"]);
  const width = Math.max(...rows.map(([number]) => formatNumber(number).length));
  const colours: Readonly<Record<string, "red" | "yellow">> = {
    [names.allowed_to_denied]: "red",
    [names.denied_to_allowed]: "yellow",
  };
  for (const [number, text] of rows) {
    const line = `${formatNumber(number).padStart(width)}  ${text}`;
    const colour = colours[text];
    lines.push(`  ${colour ? styled(colour, line, output) : line}`);
  }
  lines.push(...renderNotes(found));
  if (found.causes.length > 0) lines.push("", "Causes", ...found.causes.flatMap(causeLines));
  if (found.examples.length > 0) lines.push("", "Examples", ...examplesOf(found.examples).flatMap(exampleLines));
  return `${lines.join("\n")}\n`;
}

function renderNoRequests({ since, until, skipped, lost_nodes: lost }: Backtest): string {
  const lines = [...(skipped > 0 ? [renderSkipped(skipped)] : []), ...lost.map(renderLostNode)];
  const others = lines.map((line) => `\n${line}`).join("");
  return `No captured requests from ${since} to ${until}. Set \`capture\` on the account, edge or route to capture requests. A request is available about a second after it ended.${others}\n`;
}

function renderLostNode({ node_id: id, requests }: Backtest["lost_nodes"][number]): string {
  const missing = requests > 0 ? `at least ${renderNumber(requests, "captured request")}` : "its captured requests";
  return `Node ${id} stopped responding. The backtest lacks ${missing}.`;
}

function renderSkipped(skipped: number): string {
  return `Skipped ${renderNumber(skipped, "request")} to hosts that no edge serves now.`;
}

function renderNotes(backtest: Backtest): string[] {
  const { unknown_reasons: reasons, skipped, gaps, lost_nodes: lost, decided_otherwise_before: drifted } = backtest;
  const lines = reasons.map(({ reason, requests }) => `  Unknown for ${renderNumber(requests, "request")}: ${reason}.`);
  if (drifted > 0) {
    lines.push(`  ${renderNumber(drifted, "request")} came before the last change, which decides differently already.`);
  }
  if (skipped > 0) lines.push(`  ${renderSkipped(skipped)}`);
  lines.push(...lost.map((one) => `  ${renderLostNode(one)}`));
  if (gaps > 0) {
    lines.push(
      `  Requests are missing at ${renderNumber(gaps, "place")} of the captured data: dropped under load, or damaged.`,
    );
  }
  return lines.length > 0 ? ["", ...lines] : [];
}

function causeLines({ difference, module, rule, object, requests, sources, users, paths }: Backtest["causes"][number]) {
  const what = [
    names[difference as Difference],
    `by ${module}`,
    rule,
    object && `${object.kind} ${object.name ?? object.id}`,
  ];
  const from = [
    renderCount(sources, "address", "addresses"),
    renderCount(users, "user", "users"),
    renderCount(paths, "path", "paths"),
  ];
  return [
    `  ${formatNumber(requests)}  ${what.filter(Boolean).join("  ")}`,
    `      ${from.filter(Boolean).join(", ")}`,
  ];
}

function renderCount(
  { count: number, more }: { readonly count: number; readonly more: boolean },
  one: string,
  many: string,
): string {
  return number === 0 ? "" : `${more ? "more than " : ""}${formatNumber(number)} ${number === 1 ? one : many}`;
}

function examplesOf(examples: readonly Example[]): readonly Example[] {
  const byDifference = Object.values(Object.groupBy(examples, ({ difference }) => difference));
  return byDifference.flatMap((some) => (some ?? []).slice(0, maxExamples));
}

function exampleLines({ method, host, path, source_ip: source, user, request_id: id, before, after }: Example) {
  return [
    `  ${method} ${host}${path}  from ${user ?? source}  ${id}`,
    `    before  ${decisionText(before)}`,
    `    after   ${decisionText(after)}`,
  ];
}

function decisionText({ outcome, status_code: status, steps }: ReportedDecision): string {
  const last = steps.findLast((step) => step.outcome !== "skipped");
  const said = status === null ? outcome : `${outcome} ${status}`;
  return last ? `${said}  ${last.by}: ${last.reason}` : said;
}

function renderNumber(number: number, what: string): string {
  return `${formatNumber(number)} ${what}${number === 1 ? "" : "s"}`;
}

function formatNumber(number: number): string {
  return number.toLocaleString("en");
}
