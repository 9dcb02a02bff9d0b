import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { loginKinds } from "../../identity/engine.ts";
import type { Logins } from "../../identity/engine.ts";
import { recordOf } from "../../identity/records.ts";
import type { RoutingTable } from "../../routing/sites/compiled.ts";
import type { Downward, Link, Problem, Relayed, RelayedAnswer, Upward } from "../../routing/planes/messages.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { SharedRegister } from "../agents/registry.ts";
import type { PeerPlaces, Peers } from "../peers/peers.ts";
import type { PeerPlace } from "../peers/transport.ts";
import type { AcmeChallenges } from "../tls/acme-challenges.ts";
import type { Reached } from "./reached.ts";
import type { TrafficReports } from "../watch/traffic-reports.ts";
import type { UploadedCertificates } from "../tls/uploaded-certificates.ts";

export interface ControlLineOptions {
  readonly link: Link<Upward, Downward>;
  readonly edgeId: string;
  /** The port of HTTPS in public URLs. */
  readonly httpsPort: number;
  /** Where other edges reach this one; nothing where there are none. */
  readonly places: PeerPlaces;
  /** How far it has come. */
  readonly reached: Reached;
  /** What it shares with other edges; undefined where there are none. */
  readonly shared: SharedRegister | undefined;
  readonly table: RoutingTable;
  readonly certificates: UploadedCertificates;
  readonly challenges: AcmeChallenges;
  /** What the edge says to a question or command. Never rejects. */
  readonly answer: (message: Relayed) => Promise<RelayedAnswer>;
  /** Has an edge of another node answer; undefined where there are none. */
  readonly relay: Peers["relay"] | undefined;
  readonly logins: Pick<Logins, "load" | "change" | "reports">;
  readonly traffic: Pick<TrafficReports, "want" | "taken">;
  readonly metrics: Metrics;
  readonly log: Log;
  /** What besides modules is not in effect: told of again with each snapshot. */
  readonly standingProblems?: () => readonly Problem[];
  /** Called when the first configuration is in effect. */
  loaded(): void;
}

/**
 * Follows the control plane: says hello, puts into effect what it sends, reports what could not be. When the line
 * falls silent, what was last put into effect stays in effect (S4).
 */
export function followControlPlane(options: ControlLineOptions): void {
  const { link, edgeId, httpsPort, places, table, certificates, challenges, shared, metrics, log } = options;
  const { address, port } = places;
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
    options.reached.put({ revision });
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
  const relay = async (place: PeerPlace, message: Relayed): Promise<void> => {
    const { call, type } = message;
    const error = { reason: "command_timeout" as const, message: "the server where its agent is does not answer" };
    const silent =
      type === "command"
        ? { type: "command_result" as const, call, error }
        : { type: "answer" as const, call, answer: undefined };
    link.send((await options.relay?.(place, message)) ?? silent);
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
      case "question":
        void options.answer(message).then((answer) => link.send(answer));
        return;
      case "relay":
        void relay(message, message.message);
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
        options.reached.put({ change: message.change });
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
