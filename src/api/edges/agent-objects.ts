/** Sessions, tunnels and endpoints of agents as the edges report them, for as long as they say so. */
import type { SessionReport, TunnelReport } from "../../routing/planes/messages.ts";
import type { Reader } from "../../storage/store.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { makeLabelIndex } from "./label-index.ts";
import type { Labels } from "./label-index.ts";
import { endpointObject, sessionObject, tunnelObject } from "./live-docs.ts";
import { makeObjectsByAccount } from "./objects-by-account.ts";
import type { ObjectsByAccount } from "./objects-by-account.ts";
import { makeAgentNames } from "./agent-names.ts";
import type { AgentNames } from "./agent-names.ts";
import type { OtherAgents } from "./other-agents.ts";

export interface AgentObjects extends EdgeObserver {
  readonly sessions: ObjectsByAccount<SessionReport>;
  readonly tunnels: ObjectsByAccount<TunnelReport>;
  readonly endpoints: ObjectsByAccount<TunnelReport>;
  /** Ids of an account's tunnels that have all of `labels`. */
  having(accountId: string, labels: Labels): readonly string[];
  readonly names: AgentNames;
}

/** A report with the line that it came over: it is over with that. */
interface Reported<T> {
  readonly report: T;
  readonly line: EdgeLine;
}

/** @param others the agents of other nodes; undefined where there is none, or none yet */
export function makeAgentObjects(reader: Reader, others: () => OtherAgents | undefined): AgentObjects {
  const sessions = makeObjectsByAccount<SessionReport>(sessionObject, {
    get: (id) => others()?.session(id),
    ids: (accountId) => others()?.ids("sessions", accountId) ?? [],
    count: () => others()?.count("sessions") ?? 0,
  });
  const tunnels = makeObjectsByAccount<TunnelReport>(tunnelObject, {
    get: (id) => others()?.tunnel(id),
    ids: (accountId) => others()?.ids("tunnels", accountId) ?? [],
    count: () => others()?.count("tunnels") ?? 0,
  });
  const endpoints = makeObjectsByAccount<TunnelReport>((report) => endpointObject(report, reader), {
    get: (id) => others()?.tunnelOfEndpoint(id),
    ids: (accountId) => others()?.ids("endpoints", accountId) ?? [],
    count: () => others()?.count("tunnels") ?? 0,
  });
  const labelled = makeLabelIndex<TunnelReport>();
  const names = makeAgentNames(others);
  const openTunnels = new Map<string, Reported<TunnelReport>>();
  const openSessions = new Map<string, Reported<SessionReport>>();

  /** What another edge has reported since is not the line's to close. */
  const closeTunnel = (id: string, line: EdgeLine): void => {
    const open = openTunnels.get(id);
    if (open?.line !== line) return;
    const { report } = open;
    const { accountId, labels, endpoint } = report;
    openTunnels.delete(id);
    tunnels.remove(accountId, id);
    if (labels) labelled.remove(accountId, id, labels);
    if (endpoint) endpoints.remove(accountId, endpoint.id);
    names.remove(report);
  };
  const openTunnel = (report: TunnelReport, line: EdgeLine): void => {
    const before = openTunnels.get(report.id);
    if (before) closeTunnel(report.id, before.line);
    openTunnels.set(report.id, { report, line });
    tunnels.put(report.id, report);
    if (report.labels) labelled.add(report.accountId, report.id, report.labels, report);
    if (report.endpoint) endpoints.put(report.endpoint.id, report);
    names.add(report);
  };
  const closeSession = (id: string, line: EdgeLine): void => {
    const open = openSessions.get(id);
    if (open?.line !== line) return;
    sessions.remove(open.report.accountId, id);
    openSessions.delete(id);
  };
  return {
    sessions,
    tunnels,
    endpoints,
    having: (accountId, labels) => [
      ...new Set([...labelled.having(accountId, labels), ...(others()?.having(accountId, labels) ?? [])]),
    ],
    names,
    receive(message, line) {
      switch (message.type) {
        case "hello":
        case "gone":
          for (const id of openTunnels.keys()) closeTunnel(id, line);
          for (const id of openSessions.keys()) closeSession(id, line);
          return;
        case "session_opened":
          openSessions.set(message.session.id, { report: message.session, line });
          sessions.put(message.session.id, message.session);
          return;
        case "session_closed":
          closeSession(message.sessionId, line);
          return;
        case "tunnel_opened":
          openTunnel(message.tunnel, line);
          return;
        case "tunnel_closed":
          closeTunnel(message.tunnelId, line);
      }
    },
  };
}
