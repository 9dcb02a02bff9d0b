/** `--mcp` and `--mcp-stdio`: what makes a tunnel publish an MCP server. */
import { bridgePath } from "../../agent/mcp/bridge-path.ts";
import type { McpPlace } from "../../agent/mcp-place.ts";
import { startLazily } from "../../agent/parse-targets.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import type { Upstream } from "../../agent/upstream.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import type { Log } from "../../lib/log.ts";
import { Failure } from "../process/exit.ts";
import { ValueError } from "../agent-files/tunnel-values.ts";
import type { TunnelValues } from "../agent-files/tunnel-values.ts";

export function isMcp({ mcp, mcpStdio }: TunnelValues): boolean {
  return mcp === true || mcpStdio !== undefined;
}

/**
 * Returns the targets without the path of the MCP server, and that path. Throws `ValueError` for options that an MCP
 * server cannot have.
 */
export function mcpTargets(
  targets: readonly string[],
  values: TunnelValues,
): { readonly targets: readonly string[]; readonly mcp: TunnelOptions["mcp"] } {
  const { mcpStdio, compression, upstreamProtocol } = values;
  if (compression)
    throw new ValueError("compression", "cannot be set for an MCP server: its streams are sent unchanged");
  if (upstreamProtocol === "http2") throw new ValueError("upstreamProtocol", "must be http1 for an MCP server");
  if (mcpStdio !== undefined) {
    if (targets.length > 0) throw new ValueError("addr", "cannot be set, because the MCP server is a command");
    return { targets, mcp: { path: bridgePath } };
  }
  const [target = ""] = targets;
  if (targets.length !== 1 || target.startsWith("/"))
    throw new ValueError("addr", "must be one target for an MCP server");
  if (/^file:/i.test(target)) throw new ValueError("addr", "must be an MCP server, not a directory");
  const [, address = target, path] = /^((?:https?:\/\/)?[^/]+)(\/[\w\-.~%/]+)$/i.exec(target) ?? [];
  return { targets: [address], mcp: path === undefined || /^unix:/i.test(target) ? {} : { path } };
}

/** Returns the bridge to the command as a service inside the agent. Its process starts with the first session. */
export function mcpCommand({ mcpStdio = "", mcpMaxSessions = 20, mcpIdleTimeout = 1_800_000 }: TunnelValues): Upstream {
  let log: Log = silentLog;
  const service = startLazily(async () =>
    (await import("../../agent/mcp/stdio-bridge.ts")).stdioBridge({
      command: mcpStdio,
      env: childEnvironment(),
      maxSessions: mcpMaxSessions,
      idleMs: mcpIdleTimeout,
      clock: systemClock,
      log: () => log,
    }),
  );
  // The server sees the text. Arguments may contain keys.
  const [program = ""] = mcpStdio.trim().split(/\s/, 1);
  return {
    host: "",
    port: 0,
    tls: false,
    text: `stdio:${program.split(/[\\/]/).at(-1)}`,
    local: { ...service, logTo: (given) => void (log = given) },
  };
}

/** Finds the place of a tunnel's MCP server. Throws `Failure` (upstream) if there is none. */
export async function withMcpPlace(tunnel: TunnelOptions, log: Log): Promise<TunnelOptions> {
  if (!tunnel.mcp) return tunnel;
  tunnel.upstream.local?.logTo?.(log);
  const { findMcp } = await import("../../agent/mcp/find-mcp.ts");
  let mcp: McpPlace;
  try {
    mcp = await findMcp(tunnel.upstream, tunnel.mcp.path);
  } catch (error) {
    await tunnel.upstream.local?.close?.();
    throw new Failure("upstream", (error as Error).message, { cause: error });
  }
  if (mcp.transport === "sse" && tunnel.pooling) {
    throw new Failure(
      "usage",
      `--pooling does not work with the older SSE transport at ${mcp.path}: its sessions cannot be kept at one agent; use Streamable HTTP`,
    );
  }
  if (!isGuarded(tunnel)) {
    log.warn("everyone who knows the URL can call the tools of this MCP server", {
      advice: "require a login, such as --login google --allow-email '*@example.com', or on one machine --sso dev",
    });
  }
  return { ...tunnel, mcp };
}

const guards = ["BasicAuth", "OAuth", "OIDC", "SAML", "IPRestriction", "CountryRestriction", "MutualTLSCA"] as const;

function isGuarded({ options = {}, trafficPolicy, publish }: TunnelOptions): boolean {
  const hasLogin = publish.kind === "url" && publish.login !== undefined;
  return hasLogin || trafficPolicy !== undefined || guards.some((name) => options[name] !== undefined);
}

/** The agent's environment without its own settings, which contain tokens. */
function childEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("POSTERN_")));
}
