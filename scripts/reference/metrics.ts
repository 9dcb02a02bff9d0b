/** Finds the metrics in the sources: each call contains the name and description of its metric. */
import { globSync, readFileSync } from "node:fs";
import { toCode, renderPage, renderTable } from "./markdown.ts";

export interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

const types: Readonly<Record<string, string>> = { counterOf: "counter" };

/** Every metric, by name. */
export function metricsCatalogue(): ReadonlyMap<string, Metric> {
  const found = new Map<string, Metric>();
  for (const file of globSync("src/**/*.ts").sort()) {
    if (file.endsWith(".test.ts")) continue;
    for (const metric of metricsIn(readFileSync(file, "utf8"))) found.set(metric.name, metric);
  }
  return found;
}

export function metricsPage(): string {
  const rows = [...metricsCatalogue().values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, help, labels }) => [toCode(name), type, labels.map(toCode).join(", "), help]);
  const introduction =
    "`GET /metrics` of the management API answers with the metrics of both planes in Prometheus' text format, to this machine and to the networks that `--metrics-from` lists. A metric appears once it has a value.";
  return renderPage("Metrics", introduction, [renderTable(["Name", "Type", "Labels", "Meaning"], rows)]);
}

function metricsIn(source: string): Metric[] {
  const calls = source.matchAll(/\.(counter|counterOf|gauge|histogram)\(\s*"(postern_\w+)",\s*"([^"]*)"/g);
  return [...calls].map((call) => {
    const [text, type = "", name = "", help = ""] = call;
    const labels =
      /\{([^{}]*)\}\s*,?\s*$/.exec(restOfCall(source, call.index + text.length).replaceAll(/`[^`]*`/g, ""))?.[1] ?? "";
    return {
      name,
      type: types[type] ?? type,
      help,
      labels: labels
        .split(",")
        .map((label) => label.split(":")[0]?.trim() ?? "")
        .filter((label) => label !== ""),
    };
  });
}

/** Returns the text up to the call's closing parenthesis. */
function restOfCall(source: string, start: number): string {
  let depth = 1;
  let at = start;
  for (; at < source.length && depth > 0; at += 1) {
    if (source[at] === "(") depth += 1;
    if (source[at] === ")") depth -= 1;
  }
  return source.slice(start, at - 1);
}
