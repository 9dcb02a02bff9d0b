/** The words after the host name of `ssh`: a kind of endpoint, and the options of `postern http`, `tcp` and `tls`. */
import { parseArgs } from "node:util";
import { findNearest } from "../../lib/nearest.ts";
import { flagOf, shownValue } from "../../settings/setting.ts";
import type { Setting } from "../../settings/setting.ts";
import { httpTunnelSettings, tcpTunnelSettings, tlsTunnelSettings } from "../../settings/tunnels.ts";
import type { CommandWords } from "../../ssh/gateway/forward-request.ts";
import type { ReadWords } from "../../ssh/gateway/ssh-connection.ts";
import { bindOptions, readNoFile, ValueError } from "../agent-files/tunnel-values.ts";
import type { TunnelValues } from "../agent-files/tunnel-values.ts";

/** Options about the machine or files of an agent, and options that `-R` replaces. */
const notOverSsh = [
  "url",
  "hostname",
  "subdomain",
  "label",
  "remoteAddr",
  "trafficPolicyFile",
  "mcp",
  "mcpStdio",
  "mcpMaxSessions",
  "mcpIdleTimeout",
  "mcpRedirectUri",
  "mutualTlsCas",
  "hostHeader",
  "upstreamProtocol",
  "upstreamTlsVerify",
  "upstreamServerName",
  "upstreamTlsVerifyCas",
  "inspect",
  "crt",
  "key",
  "terminateAt",
];

type SomeSettings = Readonly<Record<string, Setting<unknown>>>;

const settingsOf = {
  http: sshSettings(httpTunnelSettings),
  tcp: sshSettings(tcpTunnelSettings),
  tls: sshSettings(tlsTunnelSettings),
} as const;

function sshSettings(all: SomeSettings): SomeSettings {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !notOverSsh.includes(name)));
}

class WordError extends Error {}

/** Never reads a file of the server (G11). */
export function readSshWords(text: string, domain: string): ReturnType<ReadWords> {
  try {
    const [kind = "", ...rest] = splitWords(text);
    if (["help", "--help", "-h"].includes(kind)) return { help: sshHelp(domain) };
    if (kind === "--json") return { ...readWords("http", [kind, ...rest]), proto: undefined };
    if (kind !== "http" && kind !== "tcp" && kind !== "tls") {
      throw new WordError(`There is no command "${kind}": use http, tcp, tls or help.`);
    }
    if (rest.includes("--help") || rest.includes("-h")) return { help: helpOf(kind) };
    return readWords(kind, rest);
  } catch (error) {
    if (!(error instanceof WordError || error instanceof ValueError)) throw error;
    return { problem: error.message };
  }
}

function readWords(kind: keyof typeof settingsOf, args: readonly string[]): CommandWords {
  const settings = settingsOf[kind];
  const { json, texts } = readFlags(kind, settings, args);
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings)) {
    try {
      values[name] = setting.read(texts.get(name));
    } catch (error) {
      throw new WordError(`${flagOf(name, setting)} ${(error as Error).message}.`);
    }
    const { needs } = setting;
    if (needs !== undefined && texts.has(name) && !texts.has(needs)) {
      throw new WordError(`${flagOf(name, setting)} needs ${flagOf(needs, settings[needs] as Setting<unknown>)}.`);
    }
  }
  const given = values as TunnelValues;
  const scheme = given.scheme?.[0] ?? "https";
  if ((given.scheme ?? []).length > 1) throw new WordError("--scheme may be given only once over SSH.");
  return {
    proto: kind,
    scheme,
    json,
    bind: {
      options: bindOptions(given, readNoFile),
      metadata: given.metadata ?? "",
      proxyProtocol: given.proxyProtocol ?? 0,
      pooling: given.pooling ?? false,
      ...(given.description !== undefined && { description: given.description }),
      ...((given.binding ?? []).length > 0 && { bindings: given.binding as readonly string[] }),
    },
  };
}

function readFlags(kind: string, settings: SomeSettings, args: readonly string[]) {
  const names = new Map<string, { readonly name: string; readonly type: "string" | "boolean" }>();
  for (const [name, setting] of Object.entries(settings)) {
    const type = setting.placeholder === undefined ? "boolean" : "string";
    for (const flag of [flagOf(name, setting).slice(2), ...(setting.also ?? [])]) names.set(flag, { name, type });
  }
  names.set("json", { name: "json", type: "boolean" });
  const options = Object.fromEntries([...names].map(([flag, { type }]) => [flag, { type }]));
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const texts = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") throw new WordError(`"${token.value}" is not an option of ${kind}.`);
    if (token.kind !== "option") continue;
    const known = names.get(token.name);
    if (!known || !token.rawName.startsWith("--")) {
      const near = findNearest(
        token.rawName,
        [...names.keys()].map((flag) => `--${flag}`),
      );
      const advice = near === undefined ? "see `help`" : `did you mean ${near}?`;
      throw new WordError(`${kind} has no option ${token.rawName} over SSH: ${advice}`);
    }
    if (known.type === "string" && token.value === undefined) throw new WordError(`${token.rawName} needs a value.`);
    texts.set(known.name, [...(texts.get(known.name) ?? []), token.value ?? "true"]);
  }
  return { json: texts.has("json"), texts };
}

/** Splits as a shell does, without expansions: quotes, and a backslash before any character. */
function splitWords(text: string): string[] {
  const words: string[] = [];
  const word = /(?:[^\s'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+|\S/g;
  for (const [found] of text.matchAll(word)) {
    if (found === "'" || found === '"' || found === "\\") throw new WordError("A quote of the command is not closed.");
    words.push(
      found.replaceAll(/'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g, (_all, single, double, escaped) =>
        String(single ?? double?.replaceAll(/\\([^])/g, "$1") ?? escaped),
      ),
    );
  }
  return words;
}

/** Text for clients that publish nothing, and for `help`. */
export function sshHelp(domain: string): string {
  return [
    "Publish a service of your machine:",
    "",
    `  ssh -R app:80:localhost:3000 ${domain}         https://app.${domain}`,
    `  ssh -R 0:localhost:3000 ${domain}              a generated name`,
    `  ssh -R 2222:localhost:22 ${domain}             TCP at port 2222`,
    `  ssh -R db:443:localhost:5432 ${domain} tls     TLS connections, passed through`,
    "",
    "Options follow the kind of the endpoint, as in:",
    "",
    `  ssh -R app:80:localhost:3000 ${domain} http --cidr-allow 10.0.0.0/8`,
    "",
    "Every kind has --json. `http --help` lists the options. Add -p and the port of the SSH listener.",
    "",
  ].join("\n");
}

function helpOf(kind: keyof typeof settingsOf): string {
  const lines = Object.entries(settingsOf[kind]).map(
    ([name, setting]) => `  ${flagOf(name, setting)}${shownValue(setting)}\n      ${setting.doc}`,
  );
  return [`Options of ${kind}:`, "", ...lines, "  --json\n      Print lines of JSON.", ""].join("\n");
}
