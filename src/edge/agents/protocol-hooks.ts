/** Implements the agent protocol: accepts agents and opens their tunnels. */
import { internalNameOf } from "../../lib/internal-names.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { runUnattended, reportFailure } from "../../lib/boundary.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { SessionReport } from "../../directory/agent-reports.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { AgentSession, BindProgress, BindRequest, ServerHooks, Unclaimed } from "../../tunnel/server-hooks.ts";
import type { Credentials, Grant } from "./opening/agent-credentials.ts";
import type { AgentInboxes } from "./agent-inboxes.ts";
import { admitsAgent } from "./enforcement.ts";
import type { Elsewhere } from "./remote/elsewhere.ts";
import type { Joining } from "./joining.ts";
import type { AgentLimits } from "./tunnels/agent-limits.ts";
import type { OpenTunnels } from "./register/open-tunnels.ts";
import type { Opening } from "./opening/opening.ts";
import type { SessionBook } from "./register/session-book.ts";
import type { SharedNames } from "./names/shared-names.ts";
import type { Endpoint, Tunnel } from "./tunnels/tunnel.ts";

export interface ProtocolHooksOptions {
  readonly table: RoutingTable;
  readonly credentials: Credentials;
  readonly sessions: SessionBook;
  readonly tunnels: OpenTunnels;
  readonly opening: Opening;
  /** Names and agents that are shared with other edges. Undefined if there is one edge. */
  readonly names: Pick<SharedNames, "canAsk" | "demand" | "drop" | "publish"> | undefined;
  readonly elsewhere: Pick<Elsewhere, "session" | "countOfAccount"> | undefined;
  readonly limits: AgentLimits;
  readonly region: string;
  readonly report: (message: Upward) => void;
  readonly log: Log;
  readonly joining: Pick<Joining, "join">;
  readonly agentInboxes: Pick<AgentInboxes, "ask">;
  /** Removes a session and its tunnels. */
  readonly leave: (session: AgentSession) => void;
  /** Ends the session when its token expires. */
  readonly watchExpiry: (token: Pick<Grant, "expiresAtMs">) => void;
}

/** Reason for an agent when a newer session takes over the name of its tunnel. */
export const newerSession = "a newer session of the same credential serves it";

export function makeProtocolHooks(options: ProtocolHooksOptions): ServerHooks {
  return { ...sessionHooks(options), ...tunnelHooks(options) };
}

type SessionHooks = Pick<ServerHooks, "join" | "inbox" | "authenticate" | "opened" | "closed">;

function sessionHooks(options: ProtocolHooksOptions): SessionHooks {
  const { table, credentials, sessions, limits, region, report, log, leave, elsewhere } = options;
  const sessionsOf = (accountId: string): number =>
    sessions.countOfAccount(accountId) + (elsewhere?.countOfAccount(accountId) ?? 0);
  return {
    join: (request) => options.joining.join(request),
    inbox: (request) => options.agentInboxes.ask(request),
    authenticate(request) {
      const grant = credentials.authenticate(request);
      if (!admitsAgent(table, grant.accountId, request.ip)) {
        throw new Refusal("agent_source_denied");
      }
      const resumed = sessions.byId(request.resumes) ?? elsewhere?.session(request.resumes);
      if (resumed && resumed.credentialId !== grant.credentialId) throw new Refusal("agent_token_unknown");
      if (!resumed && sessionsOf(grant.accountId) >= limits.sessionsPerAccount) {
        throw new Refusal("agent_limit", "connect an agent: the account has reached its maximum number of sessions");
      }
      const { accountId, credentialId } = grant;
      return { accountId, credentialId, accountName: table.accountName(accountId) };
    },
    opened(session) {
      const former = sessions.byId(session.id);
      if (former) leave(former);
      const grant = credentials.current(session.credentialId);
      if (!grant) {
        session.close("the agent token was revoked");
        return;
      }
      sessions.add(session);
      report({ type: "session_opened", session: renderSession(session, region) });
      options.watchExpiry(grant);
      log.info("agent connected", { session: session.id, credential: session.credentialId, ip: session.ip });
    },
    closed: leave,
  };
}

function tunnelHooks(options: ProtocolHooksOptions): Omit<ServerHooks, keyof SessionHooks> {
  const { tunnels, opening, log, names } = options;
  const room = roomFor(options);
  const prepare = preparerOf(opening);

  /** Closes a tunnel whose name a newer one takes over. */
  const makeWay = (tunnel: Tunnel): void => {
    // The control plane informs the other edge once the newer tunnel is open.
    if (tunnel.isElsewhere) tunnels.close(tunnel);
    else if (tunnel.online) tunnels.stop(tunnel, newerSession, "agent_name_taken");
  };
  return {
    bind(session, id, request, asked, progress = {}) {
      let tunnel: Tunnel;
      try {
        const { grant, before } = room(session, id);
        const unprepared = prepare(id, session, request, progress);
        if (unprepared) return unprepared;
        const canClaim = names?.canAsk(progress) ?? true;
        const opened = opening.endpoint({ grant, session, id, request, asked, canClaim }, progress);
        if ("ask" in opened) return opened;
        const unclaimed = names?.demand(opened, progress);
        if (unclaimed) return unclaimed;
        ({ tunnel } = opened);
        if (before) tunnels.withdraw(before);
        for (const one of opened.replaces) makeWay(one);
      } catch (error) {
        names?.drop(id, progress);
        throw error;
      }
      names?.publish(id, progress);
      tunnels.open(tunnel);
      const { host, port, url, proto } = tunnel.endpoint as Endpoint;
      const isTcp = proto === "tcp";
      return {
        url,
        hostname: isTcp ? "" : internalNameOf(host),
        address: isTcp ? `${internalNameOf(host)}:${port}` : "",
      };
    },
    abandoned: (id, progress) => names?.drop(id, progress),
    label(session, id, request, progress = {}) {
      const { grant, before } = room(session, id);
      const tunnel = opening.labelled(grant, session, id, request);
      if (before) tunnels.withdraw(before);
      names?.publish(id, progress);
      tunnels.open(tunnel);
    },
    patch(session, tunnelId, change, progress = {}) {
      const tunnel = tunnels.byId(tunnelId);
      if (tunnel?.session !== session) throw new Refusal("agent_request_invalid", `there is no tunnel "${tunnelId}"`);
      const { endpoint: present } = tunnel;
      if (present) {
        const asked = { proto: present.proto, options: { TrafficPolicy: change.trafficPolicy } };
        const unprepared = prepare(tunnelId, session, asked, progress);
        if (unprepared) return unprepared;
      }
      const endpoint = opening.changed(tunnel, change);
      tunnels.change(tunnel, endpoint, change.metadata ?? tunnel.metadata);
      log.info("tunnel changed", { tunnel: tunnelId, session: session.id, what: Object.keys(change) });
      return undefined;
    },
    unbind(session, tunnelId) {
      const tunnel = tunnels.byId(tunnelId);
      if (tunnel?.session === session) tunnels.withdraw(tunnel);
    },
  };
}

type Prepare = (
  tunnelId: string,
  session: AgentSession,
  request: Pick<BindRequest, "proto" | "options">,
  progress: BindProgress,
) => Unclaimed | undefined;

/** Compiles long options in slices first. Messages about one tunnel take effect in the order of their arrival. */
function preparerOf(opening: Opening): Prepare {
  const underWay = new Map<string, Promise<void>>();
  return (tunnelId, session, request, progress) => {
    if (progress.prepared !== undefined) return undefined;
    progress.prepared = [];
    const before = underWay.get(tunnelId);
    const work = opening.prepare(session, request);
    if (!before && !work) return undefined;
    const done = (async () => {
      await before;
      try {
        progress.prepared = await work;
      } catch (error) {
        reportFailure("message", error);
      }
    })();
    const forget = (): void => {
      if (underWay.get(tunnelId) === done) underWay.delete(tunnelId);
    };
    underWay.set(tunnelId, done);
    return { claim: (repeat) => runUnattended("message", done.then(forget).then(repeat)) };
  };
}

interface Room {
  readonly grant: Grant;
  /** The same tunnel from before a reconnect. */
  readonly before: Tunnel | undefined;
}

/** Returns a function that throws if a session may not open one more tunnel with this id. */
function roomFor(options: ProtocolHooksOptions): (session: AgentSession, id: string) => Room {
  const { credentials, sessions, tunnels, limits } = options;
  return (session, id) => {
    const grant = sessions.has(session) ? credentials.current(session.credentialId) : undefined;
    if (!grant) throw new Refusal("agent_token_unknown");
    const before = tunnels.byId(id);
    if (before?.session !== session) {
      const { inSession, inAccount } = sessions.tunnelCounts(session);
      if (inSession >= limits.tunnelsPerSession) throw new Refusal("agent_limit");
      if (inAccount >= limits.tunnelsPerAccount) {
        throw new Refusal("agent_limit", `open a tunnel: the account has ${inAccount} tunnels, the maximum`);
      }
    }
    if (before && before.session.credentialId !== session.credentialId) {
      throw new Refusal("agent_request_invalid", `open a tunnel with the id "${id}": another credential holds it`);
    }
    return { grant, before };
  };
}

export function renderSession(session: AgentSession, region: string): SessionReport {
  return {
    id: session.id,
    accountId: session.accountId,
    credentialId: session.credentialId,
    ...(session.agentId !== "" && { agentId: session.agentId }),
    agentVersion: session.agentVersion,
    ip: session.ip,
    os: session.os,
    metadata: session.metadata,
    region,
    startedAt: formatTimestamp(session.startedAt),
    startedMs: session.startedAt,
    transport: session.isSsh ? "ssh" : "ngrok/2",
  };
}
