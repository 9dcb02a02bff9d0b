import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { loginKinds } from "../../identity/engine.ts";
import type { Logins } from "../../identity/engine.ts";
import { recordOf } from "../../identity/records.ts";
import type { RoutingTable } from "../../routing/sites/compiled.ts";
import type { Downward, Link, Problem, SessionCommand, Upward } from "../../routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/questions.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { SharedRegister } from "../agents/registry.ts";
import type { PeerPlaces } from "../peers/peers.ts";
import type { AcmeChallenges } from "../tls/acme-challenges.ts";
import type { TrafficReports } from "../watch/traffic-reports.ts";
import type { UploadedCertificates } from "../tls/uploaded-certificates.ts";

export interface ControlLineOptions {
  readonly link: Link<Upward, Downward>;
  readonly edgeId: string;
  /** The port of HTTPS in public URLs. */
  readonly httpsPort: number;
  /** Where other edges reach this one; nothing where there are none. */
  readonly reached: PeerPlaces;
  /** What it shares with other edges; undefined where there are none. */
  readonly shared: SharedRegister | undefined;
  readonly table: RoutingTable;
  readonly certificates: UploadedCertificates;
  readonly challenges: AcmeChallenges;
  /** Passes a command on to an agent. Rejects with `Refusal`. */
  readonly command: (sessionId: string, command: SessionCommand) => Promise<void>;
  /** What the edge says when it is asked something. */
  readonly reply: (question: EdgeQuestion) => Promise<EdgeAnswer>;
  readonly logins: Pick<Logins, "load" | "change" | "reports">;
  readonly traffic: Pick<TrafficReports, "want" | "taken">;
  readonly metrics: Metrics;
  readonly log: Log;
  /** What besides modules is not in effect: told of again with each snapshot. */
  readonly standingProblems?: () => readonly Problem[];
  /** Called when the first configuration is in effect. */
  loaded(): void;
}

type CommandError = (Upward & { readonly type: "command_result" })["error"];

/**
 * Follows the control plane: says hello, puts into effect what it sends, reports what could not be. When the line
 * falls silent, what was last put into effect stays in effect (S4).
 */
export function followControlPlane(options: ControlLineOptions): void {
  const { link, edgeId, httpsPort, reached, table, certificates, challenges, shared, metrics, log } = options;
  const { address, port } = reached;
  const hello = {
    type: "hello" as const,
    edgeId,
    httpsPort,
    ...(address !== undefined && { peerAddress: address }),
    ...(port !== undefined && { peerPort: port }),
  };
  let arriving: ResourceObject[] = [];
  let arrivingRevision = 0;
  /** After a change that could not be put into effect only a new snapshot says what holds. */
  let isLost = false;

  const applied = (revision: number, problems: readonly Problem[]): void => {
    if (problems.length > 0) link.send({ type: "problems", problems });
    link.send({ type: "applied", revision });
    for (const { kind, id, module, message } of problems) {
      if (message !== undefined) log.warn("configuration not in effect", { kind, id, module, problem: message });
    }
  };
  const putIntoEffect = (what: string, apply: () => void): void => {
    try {
      apply();
    } catch (error) {
      log.error(`${what} not applied`, { error });
      if (isLost) return;
      isLost = true;
      link.send(hello);
    }
  };
  const reply = async (call: number, question: EdgeQuestion): Promise<void> => {
    let found: EdgeAnswer | undefined;
    try {
      found = await options.reply(question);
    } catch (error) {
      log.error("question not answered", { question: question.name, error });
    }
    link.send({ type: "answer", call, answer: found });
  };

  link.lost?.(() => shared?.names.reachable(false));
  link.receive((message) => {
    if (message.type === "snapshot") shared?.names.reachable(true);
    switch (message.type) {
      case "snapshot":
        // the rest of an earlier one never came: the control plane was started anew
        if (message.revision !== arrivingRevision) arriving = [];
        arrivingRevision = message.revision;
        for (const object of message.objects) arriving.push(object);
        if (!message.last) return;
        putIntoEffect("snapshot", () => {
          const objects = arriving;
          arriving = [];
          certificates.load(objects);
          challenges.load(objects);
          options.logins.load(objects);
          // Logins are many, and nothing of the table is compiled from them.
          const routed = objects.filter(({ kind }) => !loginKinds.has(kind));
          const problems = table.load(message.revision, routed);
          isLost = false;
          log.info("configuration loaded", { revision: message.revision, objects: objects.length });
          applied(message.revision, [...problems, ...(options.standingProblems?.() ?? [])]);
          options.loaded();
        });
        return;
      case "changes":
        putIntoEffect("change", () => {
          certificates.change(message.changes);
          challenges.change(message.changes);
          options.logins.change(message.changes);
          const routed = message.changes.filter(({ kind }) => !loginKinds.has(kind));
          applied(message.revision, table.change(message.revision, routed));
        });
        return;
      case "command":
        void carryOut(options, message.call, message.sessionId, message.command);
        return;
      case "question":
        void reply(message.call, message.question);
        return;
      case "login_stored":
        options.logins.reports.stored(message.call);
        return;
      case "message_claimed":
        options.logins.reports.claimed(message.call, message.outcome);
        return;
      case "metadata_looked_for":
        options.logins.reports.metadataLookedFor(message.call, message.isNew);
        return;
      case "login_found":
        options.logins.reports.found(message.call, message.object ? recordOf(message.object) : undefined);
        return;
      case "traffic_wanted":
        options.traffic.want(message.wanted);
        return;
      case "traffic_taken":
        options.traffic.taken(message.batch);
        return;
      case "directory":
        shared?.elsewhere.follow(message.news);
        link.send({ type: "directory_taken", number: message.number });
        return;
      case "published":
        shared?.names.published(message.tunnelId);
        return;
      case "claimed":
        shared?.names.answered(message.call, message.answer);
        return;
      case "tunnel_taken":
        shared?.tunnelTaken(message.tunnelId, message.moved);
        return;
      case "session_taken":
        shared?.sessionTaken(message.sessionId);
        return;
      case "metrics_request":
        link.send({ type: "metrics", call: message.call, text: metrics.render() });
    }
  });
  link.send(hello);
}

async function carryOut(
  { command, link, log }: ControlLineOptions,
  call: number,
  sessionId: string,
  sent: SessionCommand,
): Promise<void> {
  try {
    await command(sessionId, sent);
    link.send({ type: "command_result", call });
  } catch (error) {
    link.send({ type: "command_result", call, error: commandError(error, log) });
  }
}

function commandError(error: unknown, log: Log): NonNullable<CommandError> {
  if (error instanceof Refusal) {
    const { reason, message } = error;
    if (reason === "command_unsupported" || reason === "command_timeout" || reason === "not_found") {
      return { reason, message };
    }
    return { reason: "command_failed", message };
  }
  log.error("command failed", { error });
  return { reason: "command_failed", message: "the edge could not pass the command on" };
}
