/** Reads the tunnels of agent files and collects their errors. */
import { readFileSync } from "node:fs";
import { parseServerAddress } from "../../agent/connect.ts";
import { readCertificates } from "../../lib/certificates/x509.ts";
import { oneOf, text } from "../../settings/kinds/text.ts";
import { many, optional } from "../../settings/setting.ts";
import type { Setting, Settings } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { httpTunnelSettings, tcpTunnelSettings, tlsTunnelSettings } from "../../settings/tunnels.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { tunnelKeys } from "../agent-files/agent-file-keys.ts";
import type { AgentFiles, TunnelEntry } from "../agent-files/read-agent-files.ts";
import type { FileValue } from "../agent-files/row-reader.ts";
import type { FileIssue, SourcePlace } from "../agent-files/source.ts";
import { readAnyFile, ValueError } from "../agent-files/tunnel-values.ts";
import type { ReadFile, TunnelValues } from "../agent-files/tunnel-values.ts";
import { tunnelsOf } from "./tunnel-of.ts";
import type { TunnelKind } from "./tunnel-of.ts";

/** Tunnels of one entry in a file. */
export interface FileTunnel {
  readonly name: string;
  readonly tunnels: readonly TunnelOptions[];
}

/** Settings of a tunnel that only files support. */
const ofFiles = {
  proto: optional("", oneOf(["http", "tcp", "tls"])),
  addr: many("", text),
  trafficPolicy: optional("", text),
  samlMetadata: optional("", text),
} as const;

/** File keys with inline content, and the settings that take the same content as a path. */
const inline: Readonly<Record<string, keyof typeof ofFiles>> = { saml: "samlMetadata" };

const settingsOf: Readonly<Record<TunnelKind, Settings>> = {
  http: httpTunnelSettings,
  tcp: tcpTunnelSettings,
  tls: tlsTunnelSettings,
};

/** Maximum length of a value that a message repeats, characters. */
const maxShownLength = 200;

/** Reads all entries. Invalid entries are omitted and reported in `issues`. */
export function fileTunnels(files: AgentFiles): { readonly tunnels: FileTunnel[]; readonly issues: FileIssue[] } {
  const issues: FileIssue[] = [...files.issues];
  for (const [name, value] of files.values) {
    const setting = (settings as Settings)[name];
    if (setting && readValue(setting, value, issues) !== undefined) checkAgentValue(name, value, issues);
  }
  const tunnels = files.tunnels.flatMap((entry) => {
    const before = issues.length;
    const made = tunnelsOfEntry(entry, issues, readAnyFile);
    return issues.length === before && made ? [{ name: entry.name, tunnels: made }] : [];
  });
  return { tunnels, issues: issues.toSorted(byPlace) };
}

/** Checks values as the agent does when it connects, so that a check of the file finds the same errors. */
function checkAgentValue(name: string, { texts, key, place }: FileValue, issues: FileIssue[]): void {
  const [text = ""] = texts;
  try {
    if (name === "server") for (const one of text.split(",")) parseServerAddress(one.trim());
    if (name === "ca" && text !== "system") readCertificates(readFileSync(text, "utf8"));
  } catch (error) {
    issues.push({ ...place, message: `"${key}" ${(error as Error).message}: ${JSON.stringify(text)}` });
  }
}

/** Returns the tunnels of one entry, or undefined if it has errors, which are added to `issues`. */
export function tunnelsOfEntry(
  { name, place, values }: TunnelEntry,
  issues: FileIssue[],
  readFile: ReadFile,
): TunnelOptions[] | undefined {
  const kind = kindOf(values, place, issues);
  if (!kind) return undefined;
  const known: Settings = { ...settingsOf[kind], ...ofFiles };
  const read: Record<string, unknown> = {};
  for (const [setting, value] of values) {
    const one = known[setting];
    if (one) read[setting] = readValue(one, value, issues);
    else if (!value.isImplied)
      issues.push({ ...value.place, message: `a ${kind} tunnel does not support "${value.key}": remove it` });
  }
  for (const [setting, { needs }] of Object.entries(known)) {
    const value = values.get(setting);
    if (value && needs !== undefined && !values.has(needs) && !values.has(inline[needs] ?? "")) {
      issues.push({ ...value.place, message: `"${value.key}" needs ${keyFor(needs)}: set both` });
    }
  }
  const { addr = [] } = read as { readonly addr?: readonly string[] };
  if (addr.length === 0 && !values.has("mcpStdio")) {
    issues.push({
      ...place,
      message: `the tunnel "${name}" needs the address of its service: set "addr" or "upstream.url"`,
    });
    return undefined;
  }
  try {
    return tunnelsOf(name, kind, addr, read as TunnelValues, readFile);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const value = values.get(error.setting);
    issues.push({ ...(value?.place ?? place), message: `"${value?.key ?? name}" ${error.message}` });
    return undefined;
  }
}

/** A labelled tunnel has no protocol, and an endpoint's URL contains its protocol. */
function kindOf(values: TunnelEntry["values"], place: SourcePlace, issues: FileIssue[]): TunnelKind | undefined {
  const proto = values.get("proto");
  if (proto) return readValue(ofFiles.proto, proto, issues);
  const url = values.get("url")?.texts[0] ?? "";
  const [, scheme = "https"] = /^([a-z]+):\/\//i.exec(url) ?? [];
  const kind = { http: "http", https: "http", tcp: "tcp", tls: "tls" }[scheme.toLowerCase()];
  if (kind === undefined) {
    issues.push({
      ...(values.get("url")?.place ?? place),
      message: `"url" must begin with https://, http://, tcp:// or tls://, not "${scheme}"`,
    });
  }
  return kind as TunnelKind | undefined;
}

function readValue<T>(setting: Setting<T>, { texts, key, place }: FileValue, issues: FileIssue[]): T | undefined {
  try {
    return setting.read(texts);
  } catch (error) {
    const written = texts.join(", ");
    // A long text is a document, and may contain secrets.
    const isHidden = setting.secret || setting.concealed || written.length > maxShownLength;
    const shown = isHidden ? "" : `, and is ${JSON.stringify(written)}`;
    issues.push({ ...place, message: `"${key}" ${(error as Error).message}${shown}` });
    return undefined;
  }
}

/** Returns the key of a setting in files. */
function keyFor(setting: string): string {
  return `"${tunnelKeys.find((row) => row.setting === setting)?.key ?? setting}"`;
}

function byPlace(a: FileIssue, b: FileIssue): number {
  return a.path === b.path ? a.line - b.line || a.column - b.column : 0;
}
