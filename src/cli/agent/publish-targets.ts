/** Common parts of the publishing commands: their settings, and how they create an agent. */
import { describeServiceFault } from "../../agent/service-fault.ts";
import { limitToOneVisitor } from "../../agent/one-visitor.ts";
import { reachService } from "../../agent/service-watch.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import type { Upstream } from "../../agent/upstream.ts";
import type { Log } from "../../lib/log.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Timer } from "../../lib/clock.ts";
import { flagOf } from "../../settings/setting.ts";
import type { Settings, ValuesOf } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { tunnelSettings } from "../../settings/tunnels.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { accessSettings, agentAccess, sessionOf } from "./agent-access.ts";
import { startLocalProvider } from "./agent-logins.ts";
import { readAnyFile, ValueError } from "../agent-files/tunnel-values.ts";
import type { TunnelValues } from "../agent-files/tunnel-values.ts";
import { withMcpPlace } from "./mcp-tunnel.ts";
import { runAgent } from "./run-agent.ts";
import type { Ending } from "./run-agent.ts";
import type { AgentInbox } from "./agent-inbox.ts";
import type { AgentInboxValues } from "./agent-inbox-settings.ts";
import { withSharing } from "./sharing.ts";
import type { SharingValues } from "./sharing.ts";
import { tunnelsOf } from "./tunnel-of.ts";
import type { TunnelKind } from "./tunnel-of.ts";

/** Settings of the publishing commands, in addition to those of their kind of tunnel. */
export const publishSettings = { ...accessSettings, json: settings.json } as const;

type PublishValues = ValuesOf<typeof publishSettings> & TunnelValues & SharingValues & AgentInboxValues;

/** Publishes the targets until a signal. Resolves with the exit code. Throws `Failure`. */
export async function publishTargets(
  kind: TunnelKind,
  options: PublishValues,
  targets: readonly string[],
  sso = false,
): Promise<number> {
  const { values, shared } = withSharing(options);
  if (targets.length === 0 && values.mcpStdio === undefined) {
    throw new Failure("usage", `\`postern ${kind}\` needs a target, such as 3000, see \`postern ${kind} --help\``);
  }
  const tunnels = flagTunnels(kind, values, targets);
  if (values.printConfig) {
    const { printConfig } = await import("./print-config.ts");
    printConfig(kind, values, targets, tunnels[0] as TunnelOptions);
    return exitCodes.fine;
  }
  const access = agentAccess(values);
  const [first] = tunnels as readonly [TunnelOptions];
  const session = sessionOf(values);
  const inbox = values.inbox ? await inboxOf(values, access, first, session.log) : undefined;
  const ends = readEnding(values);
  if (values.requireUpstream) await requireService(first.upstream);
  const provider = sso
    ? await startLocalProvider({ server: access.server, publish: first.publish }, values, session.log)
    : undefined;
  try {
    return await runAgent({
      ...access,
      ...session,
      metadata: values.sessionMetadata ?? first.metadata,
      ...(inbox && { inbox, inboxHold: values.inboxHold ?? false }),
      tunnels: await Promise.all(
        (inbox ? [inbox.tunnel] : tunnels).map((one) => {
          const published = { ...one, ...(provider && { publish: provider.publish }) };
          return withMcpPlace(published, session.log).then((tunnel) => ({
            ...tunnel,
            upstream: ends.visitor?.behind(one.upstream) ?? one.upstream,
          }));
        }),
      ),
      retryFirst: false,
      form: values.json ? "json" : "text",
      screen: session.screen && !values.json,
      shared,
      opens: values.open ?? false,
      ending: ends.ending,
      online: ends.begin,
    });
  } finally {
    await provider?.stop();
    ends.cancel();
  }
}

async function inboxOf(
  { inboxWebhook = [] }: PublishValues,
  access: ReturnType<typeof agentAccess>,
  tunnel: TunnelOptions,
  log: Log,
): Promise<AgentInbox> {
  const { openAgentInbox } = await import("./agent-inbox.ts");
  return await openAgentInbox(access, tunnel, inboxWebhook, log);
}

/** Ends the command without a signal: after a time, or after the only visitor's session. Throws `Failure` (usage). */
function readEnding({ expires, once, upstreamProtocol, proxyProtocol, label = [] }: PublishValues) {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  let timer: Timer | undefined;
  if (once !== undefined && (upstreamProtocol === "http2" || proxyProtocol || label.length > 0)) {
    throw new Failure(
      "usage",
      "--once does not work with HTTP/2 services, PROXY protocol headers or labels: remove it",
    );
  }
  return {
    ending: expires === undefined && once === undefined ? undefined : promise,
    visitor: once === undefined ? undefined : limitToOneVisitor(systemClock, once, () => resolve("visited")),
    /** The time counts from the first session, because the URL does not work before it. */
    begin(): void {
      if (expires !== undefined) timer ??= systemClock.after(expires, () => resolve("expired"));
    },
    cancel: () => timer?.cancel(),
  };
}

/** Returns the tunnels that the flags describe. Throws a `Failure` (usage) that names the flag. */
function flagTunnels(kind: TunnelKind, values: PublishValues, targets: readonly string[]): readonly TunnelOptions[] {
  try {
    return tunnelsOf("command_line", kind, targets, values, readAnyFile);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const setting = (tunnelSettings as Settings)[error.setting];
    const what = setting ? flagOf(error.setting, setting) : `"${targets.join(" ")}"`;
    throw new Failure("usage", `${what} ${error.message}`, { cause: error });
  }
}

async function requireService(upstream: Upstream): Promise<void> {
  try {
    await reachService(upstream);
  } catch (error) {
    throw new Failure(
      "upstream",
      `cannot reach the service at ${upstream.text}: ${describeServiceFault(upstream, error as Error)}`,
      {
        cause: error,
      },
    );
  }
}
