/** Writes the result of an import and prints its report. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretsFile } from "../../import/report/secrets-file.ts";
import { inOrder, placeText } from "../../import/report/report.ts";
import type { Imported, ReportLine } from "../../import/report/report.ts";
import { renderYaml } from "../../lib/yaml.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { Failure } from "../process/exit.ts";

/**
 * Writes the files to `folder`, readable by their owner only. A file with other content is not replaced, unless
 * `force`.
 * @throws Failure (usage) that names the files, before anything is written
 */
export function writeImport(imported: Imported, folder: string, force: boolean): readonly string[] {
  const { document, agentFile, agentFiles = {}, serverFile, secrets } = imported;
  const files = new Map<string, string>();
  if (document) files.set("document.yaml", renderYaml({ ...document }));
  if (agentFile) files.set("agent.yml", renderYaml(agentFile));
  for (const [name, content] of Object.entries(agentFiles)) files.set(name, renderYaml(content));
  if (serverFile) files.set("server.yaml", renderYaml(serverFile));
  if (secrets.length > 0) files.set("secrets.env", secretsFile(secrets));
  const paths = [...files].map(([name, text]) => [join(folder, name), text] as const);
  const others = paths.filter(([path, text]) => existsSync(path) && readFileSync(path, "utf8") !== text);
  if (others.length > 0 && !force) {
    const names = others.map(([path]) => `"${path}"`).join(", ");
    throw new Failure(
      "usage",
      `${names} exists with other content: choose another folder with --out, or overwrite with --force`,
    );
  }
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of paths) writeFileSync(path, text, { mode: 0o600 });
  return paths.map(([path]) => path);
}

const marks = { mapped: "=", "mapped differently": "~", "left out": "-" } as const;

/** Returns one line per setting, then the counts. */
export function renderReport(report: readonly ReportLine[]): string {
  const lines = inOrder(report).map(({ place, key, kind, text, guardsAccess }) => {
    const guard = kind === "left out" && guardsAccess ? "! " : "";
    return `${marks[kind]} ${toVisibleLine(`${placeText(place)}${repeatsKey(place, key) ? "" : ` ${key}`}: ${guard}${text}`)}\n`;
  });
  const count = (kind: ReportLine["kind"]): number => report.filter((line) => line.kind === kind).length;
  const summary = `${report.length} settings: ${count("mapped")} mapped (=), ${count("mapped differently")} mapped differently (~), ${count("left out")} left out (-)`;
  const guards = report.filter(({ kind, guardsAccess }) => kind === "left out" && guardsAccess).length;
  const warning =
    guards === 0
      ? ""
      : `${guards} of the settings that were left out (!) protect something, or may do so: replace them before you continue\n`;
  return `${lines.join("")}\n${summary}\n${warning}`;
}

/** Whether the pointer already contains the key. */
function repeatsKey({ pointer }: ReportLine["place"], key: string): boolean {
  return pointer !== undefined && pointer.slice(1).replaceAll("/", ".") === key.replaceAll(/\[(\d+)\]/g, ".$1");
}

/** Returns the next commands. */
export function renderFiles(paths: readonly string[]): string {
  const named = (pattern: RegExp): readonly string[] => paths.filter((one) => pattern.test(one));
  const [secrets] = named(/secrets\.env$/);
  const env = secrets === undefined ? "" : ` --env-file ${secrets}`;
  return [
    `wrote ${paths.join(", ") || "no files"}`,
    ...named(/document\.yaml$/).map((path) => `check the document: postern plan ${path}${env}`),
    ...named(/agent[^/\\]*\.yml$/).map((path) => `check the agent file: postern config check --config ${path}`),
    ...named(/server\.yaml$/).map((path) => `check the server's settings: postern serve --check --config ${path}`),
  ]
    .map((line) => `${toVisibleLine(line)}\n`)
    .join("");
}
