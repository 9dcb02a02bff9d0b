import { runUnattended, reportFailure } from "../../lib/boundary.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { InOrder } from "../../lib/slices.ts";
import { loginKinds } from "../../identity/login-engine.ts";
import type { SamlLogins } from "../../identity/saml-login/saml-logins.ts";
import type { Logins } from "../../identity/login-engine.ts";
import { recordOf, sessionKind } from "../../identity/sessions/session-records.ts";
import type { RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { Downward, Link, Problem, Relayed, RelayedAnswer, Upward } from "../../routing/planes/messages.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { PackedObjects } from "../../schema/packed.ts";
import type { InboxResult } from "../../traffic/stored-request.ts";
import type { AgentInboxes } from "../agents/agent-inboxes.ts";
import type { Joining } from "../agents/joining.ts";
import type { SharedRegister } from "../agents/registry.ts";
import type { DeliverFromInbox } from "../http/inbox-delivery.ts";
import type { InboxLine } from "../http/inbox-line.ts";
import type { PeerPlaces, Peers } from "../peers/peers.ts";
import type { PeerPlace } from "../peers/peer-transport.ts";
import type { AcmeChallenges } from "../tls/acme-challenges.ts";
import type { Reached } from "./reached.ts";
import type { EdgeStanding } from "./follow-standing.ts";
import type { OwnSeries } from "./own-series.ts";
import type { Tallies } from "../watch/tallies.ts";
import type { TrafficReports } from "../watch/traffic-reports.ts";
import type { TicketSecret } from "../tls/ticket-secret.ts";
import type { UploadedCertificates } from "../tls/uploaded-certificates.ts";

export interface ControlLineOptions {
  readonly link: Link<Upward, Downward>;
  readonly edgeId: string;
  /** The HTTPS port in public URLs. */
  readonly httpsPort: number;
  /** The port of the agent listener. */
  readonly agentPort: number;
  /** Addresses at which other edges reach this one. Empty without other edges. */
  readonly places: PeerPlaces;
  /** Progress of this edge. */
  readonly reached: Reached;
  /** Receives the standing of this node. */
  readonly standing: EdgeStanding["take"];
  /** The register's shared names. Undefined without other edges. */
  readonly shared: SharedRegister | undefined;
  /** Receives the control plane's answer to an agent that wants to join. */
  readonly joined: Joining["joined"];
  /** Receives the control plane's answer about an agent's inbox. */
  readonly agentInboxAnswered: AgentInboxes["answered"];
  readonly table: RoutingTable;
  readonly certificates: UploadedCertificates;
  readonly tickets: Pick<TicketSecret, "take">;
  readonly challenges: AcmeChallenges;
  /** Answers a question or command. Never rejects. */
  readonly answer: (message: Relayed) => Promise<RelayedAnswer>;
  /** Gets an answer from an edge of another node. Undefined without other edges. */
  readonly relay: Peers["relay"] | undefined;
  readonly logins: Pick<Logins, "load" | "change" | "reports" | "context">;
  readonly saml: Pick<SamlLogins, "load" | "change">;
  readonly inbox: Pick<InboxLine, "stored" | "reachable">;
  readonly deliverFromInbox: DeliverFromInbox;
  readonly traffic: Pick<TrafficReports, "want" | "taken">;
  readonly tallies: Pick<Tallies, "taken" | "again">;
  /** Receives the history of traffic of this node. */
  readonly series: Pick<OwnSeries, "found">;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Problems outside of modules. Reported again with each snapshot. */
  readonly standingProblems?: () => readonly Problem[];
  /** Called when the first configuration is in effect. */
  loaded(): void;
}

/**
 * Follows the control plane: says hello, applies its configuration, and reports problems. If the line fails, the last
 * configuration stays in effect (S4).
 */
export function followControlPlane(options: ControlLineOptions): void {
  const { link, shared, logins, inbox, traffic, tallies, reached, metrics } = options;
  const hello = helloOf(options);
  const configuration = followConfiguration(options, () => link.send(hello));

  const answerWith = (asked: Relayed, answer: Promise<Upward>): void => {
    const sent = answer.then((one) => link.send(one));
    runUnattended("message", sent, () => link.send(makeUnanswered(asked, "the edge could not answer")));
  };

  const deliver = ({ call, delivery, body }: Extract<Downward, { readonly type: "inbox_delivery" }>): void => {
    const tell = (result: InboxResult): void => link.send({ type: "inbox_result", call, result });
    const broken = { error: "the edge could not deliver the message", durationMs: 0 };
    runUnattended("message", options.deliverFromInbox(delivery, body).then(tell), () => tell(broken));
  };

  const inOrder = new InOrder();
  link.lost?.(() => {
    inbox.reachable(false);
    inOrder.add(() => void shared?.names.reachable(false));
  });
  const take = (message: Downward): Promise<void> | undefined => {
    switch (message.type) {
      case "snapshot":
        shared?.names.reachable(true);
        inbox.reachable(true);
        return configuration.snapshot(message);
      case "changes":
        return configuration.changes(message);
      case "command":
      case "question":
        answerWith(message, options.answer(message));
        return undefined;
      case "relay":
        answerWith(message.message, relayMessage(options, message, message.message));
        return undefined;
      case "joined":
        options.joined(message.call, message.joined);
        return;
      case "agent_inbox_answered":
        options.agentInboxAnswered(message.call, message.outcome);
        return;
      case "login_stored":
      case "message_claimed":
      case "metadata_looked_for":
      case "authorization_answered":
      case "login_found":
        takeLoginAnswer(logins.reports, message);
        return undefined;
      case "inbox_stored":
        inbox.stored(message.call, message.outcomes);
        return undefined;
      case "inbox_delivery":
        deliver(message);
        return undefined;
      case "traffic_wanted":
        traffic.want(message.wanted);
        // A restarted control plane sends this, too.
        tallies.again();
        return undefined;
      case "traffic_taken":
        traffic.taken(message.batch);
        return undefined;
      case "tallies_taken":
        tallies.taken(message.number);
        return undefined;
      case "series_found":
        options.series.found(message.call, message.answer);
        return undefined;
      case "directory":
        shared?.elsewhere.follow(message.news);
        reached.put({ change: message.change });
        link.send({ type: "directory_taken", number: message.number });
        return undefined;
      case "published":
        shared?.names.published(message.tunnelId);
        return undefined;
      case "claimed":
        shared?.names.answered(message.call, message.answer);
        return undefined;
      case "tunnel_taken":
        shared?.tunnelTaken(message);
        return undefined;
      case "session_taken":
        shared?.sessionTaken(message);
        return undefined;
      case "standing":
        options.standing(message.standing);
        return undefined;
      case "ticket_secret":
        options.tickets.take(Buffer.from(message.secret, "base64"));
        return undefined;
      case "metrics_request":
        link.send({ type: "metrics", call: message.call, text: metrics.render(message.exemplars) });
        return undefined;
    }
  };
  link.receive((message) => inOrder.add(() => take(message)));
  link.send(hello);
}

type LoginAnswer = Extract<
  Downward,
  {
    readonly type:
      | "login_stored"
      | "message_claimed"
      | "metadata_looked_for"
      | "authorization_answered"
      | "login_found";
  }
>;

function takeLoginAnswer(reports: ControlLineOptions["logins"]["reports"], message: LoginAnswer): void {
  switch (message.type) {
    case "login_stored":
      return reports.stored(message.call);
    case "message_claimed":
      return reports.claimed(message.call, message.outcome);
    case "metadata_looked_for":
      return reports.metadataLookedFor(message.call, message.isNew);
    case "authorization_answered":
      return reports.authorizationAnswered(message.call, message.answer);
    case "login_found":
      return reports.found(message.call, message.object ? recordOf(message.object) : undefined);
  }
}

function helloOf({ edgeId, httpsPort, agentPort, places: { address, port } }: ControlLineOptions): Upward {
  return {
    type: "hello",
    edgeId,
    httpsPort,
    agentPort,
    ...(address !== undefined && { peerAddress: address }),
    ...(port !== undefined && { peerPort: port }),
  };
}

interface Configuration {
  /** Later messages must wait for the returned promise. The same applies to `changes`. */
  snapshot(message: Extract<Downward, { readonly type: "snapshot" }>): Promise<void> | undefined;
  changes(message: Extract<Downward, { readonly type: "changes" }>): Promise<void> | undefined;
}

/**
 * Applies configuration.
 * @param askAnew requests a snapshot from the control plane
 */
function followConfiguration(options: ControlLineOptions, askAnew: () => void): Configuration {
  const { link, table, certificates, challenges, logins, saml, log } = options;
  let arriving: ResourceObject[] = [];
  let arrivingLogins: PackedObjects[] = [];
  let arrivingRevision = 0;
  /** Whether a change could not be applied. Then only a new snapshot is valid. */
  let isLost = false;

  const applied = (revision: number, problems: readonly Problem[]): void => {
    if (problems.length > 0) link.send({ type: "problems", problems });
    link.send({ type: "applied", revision });
    options.reached.put({ revision });
    for (const { kind, id, module, message } of problems) {
      if (message !== undefined) log.warn("configuration not applied", { kind, id, module, problem: message });
    }
  };
  const putIntoEffect = (what: string, apply: () => void): void => {
    try {
      apply();
    } catch (error) {
      log.error(`${what} not applied`, { error });
      if (isLost) return;
      isLost = true;
      askAnew();
    }
  };
  /** Objects compiled in advance, until the publication that needs them is in effect. */
  const held = new Set<unknown>();
  /** Compiles the slow parts of a publication in slices. Then applies all of it in one step. */
  const whenPrepared = (what: string, objects: readonly ResourceObject[], apply: () => void) => {
    const prepared = table.prepare(objects);
    if (!prepared) {
      putIntoEffect(what, apply);
      return undefined;
    }
    return prepared
      .then((result) => void held.add(result))
      .catch((error: unknown) => reportFailure("message", error))
      .then(() => {
        putIntoEffect(what, apply);
        held.clear();
      });
  };
  return {
    snapshot({ revision, objects: part, packed, last }) {
      // The rest of an earlier snapshot never arrived, because the control plane was restarted.
      if (revision !== arrivingRevision) [arriving, arrivingLogins] = [[], []];
      arrivingRevision = revision;
      for (const object of part) arriving.push(object);
      if (packed?.kind === sessionKind) arrivingLogins.push(packed);
      if (!last) return undefined;
      const [objects, sessions] = [arriving, arrivingLogins];
      [arriving, arrivingLogins] = [[], []];
      // Logins are numerous, and the table does not depend on them.
      const routed = objects.filter(({ kind }) => !loginKinds.has(kind));
      return whenPrepared("snapshot", routed, () => {
        certificates.load(objects);
        challenges.load(objects);
        logins.load(objects, sessions);
        saml.load(objects);
        const problems = table.load(revision, routed);
        isLost = false;
        log.info("configuration loaded", { revision, objects: objects.length, logins: logins.context.sessions.size });
        applied(revision, [...problems, ...(options.standingProblems?.() ?? [])]);
        options.loaded();
      });
    },
    changes({ revision, changes }) {
      const routed = changes.filter(({ kind }) => !loginKinds.has(kind));
      const objects = routed.flatMap(({ object }) => object ?? []);
      return whenPrepared("change", objects, () => {
        certificates.change(changes);
        challenges.change(changes);
        logins.change(changes);
        saml.change(changes);
        applied(revision, table.change(revision, routed));
      });
    },
  };
}

/** Returns the answer of another node's edge, or that it does not answer. */
async function relayMessage(options: ControlLineOptions, place: PeerPlace, message: Relayed): Promise<Upward> {
  const answer = await options.relay?.(place, message);
  return answer ?? makeUnanswered(message, "the agent's server does not answer");
}

function makeUnanswered({ call, type }: Relayed, why: string): Upward {
  if (type === "question") return { type: "answer", call, answer: undefined };
  return { type: "command_result", call, error: { reason: "command_timeout", message: why } };
}
