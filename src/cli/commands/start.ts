import { agentFilesOf, defaultAgentFile } from "../agent-files/default-file.ts";
import { readAgentFiles, renderIssue } from "../agent-files/read-agent-files.ts";
import { accessSettings, agentAccess, sessionOf } from "../agent/agent-access.ts";
import { fileTunnels } from "../agent/file-tunnels.ts";
import type { FileTunnel } from "../agent/file-tunnels.ts";
import { withMcpPlace } from "../agent/mcp-tunnel.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { runAgent } from "../agent/run-agent.ts";
import { defineCommand } from "../command/command.ts";
import { Failure } from "../process/exit.ts";
import { findNearest } from "../../lib/nearest.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

export const start = defineCommand({
  name: "start",
  doc: "Publish services from an agent file in one session: the named tunnels or all of them. If a tunnel cannot be opened, the agent reports it and continues with the others. The agent reconnects after every connection loss.",
  operands: "[NAME…]",
  least: 0,
  most: Number.POSITIVE_INFINITY,
  settings: {
    all: flagOnly(toggle("Start all tunnels in the files.")),
    none: flagOnly(toggle("Open only the session, without tunnels.")),
    ...accessSettings,
    json: settings.json,
  },
  examples: [
    "postern start web api",
    "postern start --all --config ngrok.yml",
    "postern start --all --config common.yml --config here.yml",
  ],
  async run(values, names) {
    const paths = agentFilesOf(values.agentConfig, process.env);
    if (paths.length === 0) {
      throw new Failure(
        "usage",
        `no agent file "${defaultAgentFile(process.env)}": write one with \`postern config init\`, or set another file with --config`,
      );
    }
    const { tunnels, issues } = fileTunnels(readAgentFiles(paths));
    if (issues.length > 0) throw new Failure("usage", issues.map(renderIssue).join("\n"));
    const wanted = chooseTunnels(tunnels, names, values);
    const session = sessionOf(values);
    const mcp = (tunnel: TunnelOptions): Promise<TunnelOptions> =>
      withMcpPlace(tunnel, session.log).catch((error: Error) => {
        session.log.warn("MCP server not found", { tunnel: tunnel.name, reason: error.message });
        return tunnel;
      });
    return await runAgent({
      ...agentAccess(values),
      ...session,
      tunnels: await Promise.all(wanted.flatMap((one) => one.tunnels).map(mcp)),
      retryFirst: true,
      form: values.json ? "named json" : "text",
    });
  },
});

function chooseTunnels(
  tunnels: readonly FileTunnel[],
  names: readonly string[],
  { all, none }: { readonly all: boolean; readonly none: boolean },
): readonly FileTunnel[] {
  if (Number(all) + Number(none) + Number(names.length > 0) !== 1) {
    throw new Failure("usage", "give names of tunnels, --all or --none");
  }
  if (none) return [];
  if (all) {
    if (tunnels.length > 0) return tunnels;
    throw new Failure("usage", 'the file has no tunnels: add some under "tunnels:", or start with --none');
  }
  return names.map((name) => {
    const found = tunnels.find((one) => one.name === name);
    if (found) return found;
    const known = tunnels.map((one) => one.name);
    const near = findNearest(name, known);
    const others = near === undefined ? `use one of ${known.join(", ")}` : `did you mean "${near}"?`;
    throw new Failure("usage", `unknown tunnel "${name}": ${others}`);
  });
}
