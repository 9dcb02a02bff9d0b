/** Runs an agent until a signal or its own end: its output and exit code. */
import { startAgent } from "../../agent/agent.ts";
import type { AgentOptions } from "../../agent/agent-options.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { runUnattended } from "../../lib/boundary.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { openInBrowser } from "../process/browser.ts";
import { exitCodes } from "../process/exit.ts";
import { waitForSignal } from "../process/signals.ts";
import { posternVersion } from "../process/version.ts";
import { makeInspection } from "./inspection.ts";
import type { InspectionOptions } from "./inspection.ts";
import type { ExporterPlan } from "../telemetry/telemetry-plan.ts";
import { agentFailure } from "./agent-failure.ts";
import type { AgentInbox } from "./agent-inbox.ts";
import type { AgentView } from "./agent-view.ts";
import { makeLiveView } from "./live-view.ts";
import { notShared } from "./sharing.ts";
import type { SharedAccess } from "./sharing.ts";
import { makePlainView } from "./plain-view.ts";
import type { PlainForm } from "./plain-view.ts";

/** Why an agent ends without a failure or a signal. */
export type Ending = "expired" | "visited";

const endings = {
  expired: "The tunnel has expired (--expires).",
  visited: "The visitor's session is over (--once).",
} as const satisfies Record<Ending, string>;

export interface AgentRun
  extends
    InspectionOptions,
    Pick<
      AgentOptions,
      | "server"
      | "otherServers"
      | "connections"
      | "ca"
      | "token"
      | "connect"
      | "metadata"
      | "tunnels"
      | "retryFirst"
      | "giveUpMs"
      | "remoteManagement"
      | "heartbeatIntervalMs"
      | "heartbeatToleranceMs"
    > {
  readonly log: Log;
  /** Absent if the agent sends no spans. */
  readonly telemetry?: ExporterPlan | undefined;
  /** Form of messages about online tunnels if there is no screen. */
  readonly form: PlainForm;
  /** Whether to show a screen if stdout is a terminal. */
  readonly screen: boolean;
  /** What people need to use the URL of the first tunnel. Default: nothing. */
  readonly shared?: SharedAccess;
  /** Set if the server stores webhooks for the agent. */
  readonly inbox?: AgentInbox | undefined;
  /** Whether to pause the inbox's deliveries at the start. */
  readonly inboxHold?: boolean;
  /** Whether to open that URL in a browser. */
  readonly opens?: boolean;
  /** Called each time that the agent has a session. */
  readonly online?: () => void;
  /** Ends the agent when it resolves with the reason. */
  readonly ending?: Promise<Ending> | undefined;
}

/** Resolves with the exit code. Throws a `Failure` with the reason if the agent ends because of an error. */
export async function runAgent({
  log,
  form,
  screen,
  shared = notShared,
  opens = false,
  inbox,
  inboxHold = false,
  ending,
  online,
  telemetry,
  ...given
}: AgentRun): Promise<number> {
  const stopped = waitForSignal();
  const isLive = screen && process.stdout.isTTY;
  const inspection = await makeInspection(given, isLive);
  const opened = given.inspector && inspection && (await inspection.open());
  const view =
    isLive && inspection
      ? makeLiveView(given.server, inspection.totals, log, shared)
      : makePlainView(log, form, shared);
  const tracing = telemetry && (await import("./agent-tracing.ts")).openAgentTracing(telemetry, view.log);
  for (const { upstream } of given.tunnels) upstream.local?.logTo?.(view.log);
  const prepare = async (tunnel: TunnelOptions): Promise<TunnelOptions> => {
    const isOpened = opens && tunnel === given.tunnels[0];
    const seen = inbox ? withUrl(view.watch(tunnel), inbox.url) : view.watch(tunnel);
    const shown = watchTunnel(tunnel, isOpened ? openWhenOnline(seen, view.log) : seen);
    const inspected = inspection ? await inspection.watch(shown) : shown;
    return tracing ? tracing.watch(inspected) : inspected;
  };
  const watchedInbox = inbox && watchInbox(inbox, view, inboxHold);
  await watchedInbox?.begun;
  const controlOf = inspection && (await import("./agent-control.ts")).controlOf;
  const agent = startAgent({
    ...given,
    tunnels: await Promise.all(given.tunnels.map(prepare)),
    version: posternVersion(),
    clock: systemClock,
    log: view.log,
    random: Math.random,
    exchanges: inspection?.exchanges,
    requestTimes: inspection && ((lines) => inspection.requestTimes(lines)),
    status(status) {
      inspection?.status(status);
      view.status(status);
      if (status.state === "online") online?.();
    },
  });
  const stopRequest = Promise.withResolvers<number>();
  let ended: Ending | undefined;
  const whenEnded = ending?.then((why) => {
    ended = why;
    return exitCodes.fine;
  });
  if (inspection && controlOf) {
    inspection.control(
      controlOf(agent, given.tunnels, prepare, inspection.knows, () => stopRequest.resolve(exitCodes.fine)),
    );
  }
  // Without a configured address, the first tunnel does not wait for the inspector.
  if (inspection)
    void Promise.resolve(opened ?? inspection.open()).then(
      (url) => url !== undefined && view.inspector(url),
      (error: Error) => view.log.warn(error.message),
    );
  const end = await Promise.race([stopped, stopRequest.promise, agent.ended, ...(whenEnded ? [whenEnded] : [])]);
  watchedInbox?.stop();
  inspection?.drain();
  const closeServices = () => Promise.all(given.tunnels.map(async ({ upstream }) => await upstream.local?.close?.()));
  // Before the agent waits for open requests, because a stream of a client has no end.
  await closeServices();
  if (typeof end === "number") await agent.close();
  // A request that arrived meanwhile may have started one again.
  await closeServices();
  await tracing?.stop();
  await inspection?.close();
  view.close();
  if (ended !== undefined) printEnded(form, ended);
  if (typeof end === "number") return end;
  throw agentFailure(end, given.server);
}

/** Between two counts of the webhooks that wait, milliseconds: while some wait, and while none waits. */
const [busyMs, quietMs] = [2_000, 30_000];

/** Shows how many webhooks wait, and resumes the deliveries when the user wants them. */
function watchInbox(inbox: AgentInbox, view: AgentView, isHeld: boolean) {
  let held = isHeld;
  let timer: Timer | undefined;
  let isStopped = false;
  const show = (waiting: number | undefined): void => {
    if (isStopped) return;
    if (waiting !== undefined) view.inbox(waiting, held);
    timer?.cancel();
    timer = systemClock.after(waiting === 0 ? quietMs : busyMs, () =>
      runUnattended("task", inbox.waiting().then(show)),
    );
  };
  view.onDeliver(() => {
    if (!held) return;
    held = false;
    runUnattended(
      "task",
      inbox
        .setPaused(false)
        .then(() => inbox.waiting())
        .then(show),
    );
  });
  const stop = (): void => {
    isStopped = true;
    timer?.cancel();
  };
  return { begun: inbox.setPaused(isHeld).then(() => show(inbox.waitingFirst)), stop };
}

/** An agent's labelled tunnel has no URL, but its edge has. */
function withUrl(watching: ReturnType<AgentView["watch"]>, url: string): ReturnType<AgentView["watch"]> {
  return {
    ...watching,
    status: (status) => watching.status(status.state === "online" ? { ...status, url } : status),
  };
}

function printEnded(form: PlainForm, why: Ending): void {
  process.stdout.write(`${form === "text" ? endings[why] : JSON.stringify({ ended: why })}\n`);
}

/** Opens the URL in a browser when the tunnel is first online. */
function openWhenOnline(watching: ReturnType<AgentView["watch"]>, log: Log): ReturnType<AgentView["watch"]> {
  let isOpen = false;
  return {
    ...watching,
    status(status) {
      watching.status(status);
      if (isOpen || status.state !== "online" || status.url === undefined) return;
      isOpen = true;
      openInBrowser(status.url, (why) => log.warn(why));
    },
  };
}

function watchTunnel(
  tunnel: TunnelOptions,
  { status, request, service }: ReturnType<AgentView["watch"]>,
): TunnelOptions {
  const { proto = "https" } = tunnel;
  // A service may accept only one plain connection. HTTP services accept any number.
  const isHttp = proto === "https" || proto === "http";
  return { ...tunnel, status, request, ...(isHttp && { service }) };
}
