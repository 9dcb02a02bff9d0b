/** `--print-config`: prints the options of a command as an agent file and as an API document. */
import { resolve } from "node:path";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { renderYaml } from "../../lib/yaml.ts";
import type { JsonObject } from "../../lib/json.ts";
import { defaultsOf } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { tunnelSettings } from "../../settings/tunnels.ts";
import { tunnelKeys } from "../agent-files/agent-file-keys.ts";
import { isPem } from "../agent-files/row-reader.ts";
import { findRunningServer } from "../data/local-server.ts";
import type { accessSettings } from "./agent-access.ts";
import { apiDocument, labelOf } from "./api-document.ts";
import type { TunnelValues } from "../agent-files/tunnel-values.ts";
import type { SharingValues } from "./sharing.ts";
import type { TunnelKind } from "./tunnel-of.ts";

type ConfigValues = ValuesOf<typeof accessSettings> & TunnelValues & SharingValues & { readonly json: boolean };

/** Name of the tunnel, the edge and the document. */
const name = "web";

export function printConfig(
  kind: TunnelKind,
  values: ConfigValues,
  targets: readonly string[],
  tunnel: TunnelOptions,
): void {
  const local = values.server === undefined ? findRunningServer(values.data) : undefined;
  const server = values.server ?? local?.agentAddress;
  const file = agentFile(kind, values, targets, server, local !== undefined);
  const { document, notes } = apiDocument(name, kind, hostportOf(kind, values, server, local?.httpsPort), tunnel);
  const also = (["expires", "once"] as const).flatMap((flag) =>
    values[flag] === undefined ? [] : [`--${flag} has no key: it is about one run of the command`],
  );
  if (values.json) {
    process.stdout.write(
      `${JSON.stringify({ agent_file: file, document: document ?? null, notes: [...notes, ...also] })}\n`,
    );
    return;
  }
  const served = `postern ${kind} ${targets.join(" ")} --label ${labelOf(name)}`;
  process.stdout.write(
    [
      "# Agent file: save it as agent.yml, and run `postern start --all --config agent.yml`.",
      "# The agent token is not included: `postern join` and `postern login` store it.",
      ...also.map((note) => `# ${note}`),
      renderYaml(file).trimEnd(),
      "---",
      `# Document for the API: save it as ${name}.yaml, and run \`postern plan ${name}.yaml\` and \`postern apply ${name}.yaml\`.`,
      `# Then serve the edge with \`${served}\`.`,
      ...notes.map((note) => `# Note: ${note}.`),
      ...(document ? [renderYaml(document).trimEnd()] : []),
      "",
    ].join("\n"),
  );
}

function agentFile(
  kind: TunnelKind,
  values: ConfigValues,
  targets: readonly string[],
  server: string | undefined,
  isLocal: boolean,
): JsonObject {
  const addr = targets.length === 1 ? targets[0] : [...targets];
  const tunnel: Record<string, unknown> = { proto: kind, ...(targets.length > 0 && { addr }) };
  const defaults: Readonly<Record<string, unknown>> = defaultsOf(tunnelSettings);
  for (const setting of Object.keys(tunnelSettings)) {
    const value = (values as Readonly<Record<string, unknown>>)[setting];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(defaults[setting])) continue;
    const row = tunnelKeys.find(
      ({ key, setting: own }) => own === setting && (setting !== "saml" || key === samlKey(value)),
    );
    if (row) setAt(tunnel, row.key.split("."), formatForFile(setting, value, row.isPath === true));
  }
  return {
    // The directory of a server on this machine contains the address, the CA and a token.
    ...(isLocal ? { data: resolve(values.data) } : server !== undefined && { server }),
    ...(!isLocal && values.ca !== undefined && { ca: values.ca === "system" ? values.ca : resolve(values.ca) }),
    tunnels: { [name]: tunnel },
  } as JsonObject;
}

/** Returns the key for the only setting that has two keys in files. */
function samlKey(value: unknown): string {
  return /^https?:/i.test(String(value)) ? "saml.idp_metadata_url" : "saml.idp_metadata_file";
}

/** Formats a value for a file. Paths are absolute, because relative paths in a file refer to the file's directory. */
function formatForFile(setting: string, value: unknown, isPath: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => formatForFile(setting, one, isPath));
  if (setting === "upstreamTimeout" || setting === "mcpIdleTimeout") return `${String(value)}ms`;
  if (typeof value === "string" && isPath && !isPem(value)) return resolve(value);
  return value;
}

function setAt(object: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = "", ...rest] = path;
  if (rest.length === 0) object[first] = value;
  else setAt((object[first] ??= {}) as Record<string, unknown>, rest, value);
}

/** Returns the fixed address at which an edge would serve the tunnel; undefined if unknown. */
function hostportOf(
  kind: TunnelKind,
  values: ConfigValues,
  server: string | undefined,
  httpsPort: number | undefined,
): string | undefined {
  const { url, hostname, subdomain, remoteAddr } = values as TunnelValues;
  if (kind === "tcp") return remoteAddr ?? /^tcp:\/\/(.+:\d+)$/.exec(url ?? "")?.[1];
  const given = URL.parse(url?.replace(/^tls:/, "https:") ?? "");
  const port = given?.port || String(httpsPort ?? 443);
  if (given?.hostname) return `${given.hostname}:${port}`;
  const domain = (server ?? "localhost").replace(/:\d+$/, "");
  return `${hostname ?? `${subdomain ?? name}.${domain}`}:${port}`;
}
