/** Ends the sessions and tunnels that the configuration no longer allows. */
import { Refusal } from "../../lib/errors.ts";
import { internalNameOf } from "../../lib/internal-names.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";
import { namedKinds } from "./opening/account-objects.ts";
import type { EndpointAddresses } from "./names/endpoint-addresses.ts";
import type { Credentials, Grant } from "./opening/agent-credentials.ts";
import type { EndpointHosts } from "./names/endpoint-hosts.ts";
import type { OpenTunnels } from "./register/open-tunnels.ts";
import type { SessionBook } from "./register/session-book.ts";
import type { Tunnel } from "./tunnels/tunnel.ts";

export interface EnforcementOptions {
  readonly table: RoutingTable;
  readonly credentials: Credentials;
  readonly sessions: SessionBook;
  readonly tunnels: OpenTunnels;
  readonly hosts: EndpointHosts;
  readonly addresses: EndpointAddresses | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Removes a session and its tunnels. */
  readonly leave: (session: AgentSession) => void;
}

export interface Enforcement {
  /** Ends the session of this token when the token expires. */
  watchExpiry(token: Pick<Grant, "expiresAtMs">): void;
}

/** Time until an endpoint closes after an edge or a reservation took its name, milliseconds. */
const dispossessAfterMs = 250;
/** Interval at which the tokens of open sessions are checked for expiry, milliseconds. */
const expiryPeriodMs = 1_000;
/** Kinds of objects that restrict the addresses of agents. */
const restricting = ["ip_restriction", "ip_policy", "ip_policy_rule"];

/** Follows the changes of `table` and ends sessions and tunnels accordingly. */
export function enforceConfiguration(options: EnforcementOptions): Enforcement {
  const { table, credentials, sessions, clock } = options;
  const expel = (session: AgentSession, reason: string): void => {
    options.leave(session);
    session.close(reason);
  };
  let isLooking = false;
  table.subscribe(({ credentialIds, kinds }) => {
    if ([...kinds].some((kind) => namedKinds.has(kind))) renewEndpoints(options);
    if (restricting.some((kind) => kinds.has(kind))) expelByAddress(options, expel);
    for (const credentialId of credentialIds) {
      refreshCredential(options, credentialId, expel);
      // A rotated token gets an expiry while its agents are connected.
      const present = credentials.current(credentialId);
      if (present && [...sessions.ofCredential(credentialId)].length > 0) watchExpiry(present);
    }
    if (isLooking || ![...kinds].some((kind) => kind.endsWith("_edge") || kind.startsWith("reserved_"))) return;
    isLooking = true;
    clock.after(dispossessAfterMs, () => {
      isLooking = false;
      stopDispossessed(options);
    });
  });

  let isWatching = false;
  /** Ends the sessions of expired tokens. Repeats while a session has a token that will expire. */
  const watch = (): void => {
    const now = clock.now();
    isWatching = false;
    for (const session of sessions.all()) {
      const expiresAtMs = credentials.current(session.credentialId)?.expiresAtMs;
      if (expiresAtMs === undefined) continue;
      if (expiresAtMs > now) {
        isWatching = true;
        continue;
      }
      options.log.info("agent's token expired", { session: session.id, credential: session.credentialId });
      expel(session, "the agent token has expired");
    }
    if (isWatching) clock.after(expiryPeriodMs, watch);
  };
  const watchExpiry: Enforcement["watchExpiry"] = ({ expiresAtMs }) => {
    if (isWatching || expiresAtMs === undefined) return;
    isWatching = true;
    clock.after(expiryPeriodMs, watch);
  };
  return { watchExpiry };
}

/** Whether the account's IP restriction admits an agent at this address. */
export function admitsAgent(table: RoutingTable, accountId: string, ip: string): boolean {
  return table.restriction(accountId, "agent")?.(ip).answer === undefined;
}

type Expel = (session: AgentSession, reason: string) => void;

function expelByAddress({ table, sessions, log }: EnforcementOptions, expel: Expel): void {
  for (const session of sessions.all()) {
    if (admitsAgent(table, session.accountId, session.ip)) continue;
    log.info("agent's address no longer allowed", { session: session.id, ip: session.ip });
    expel(session, "the account's IP restriction does not allow this address");
  }
}

function refreshCredential(options: EnforcementOptions, credentialId: string, expel: Expel): void {
  const { credentials, sessions, tunnels, log } = options;
  const affected = sessions.ofCredential(credentialId);
  const grant = credentials.refresh(credentialId);
  for (const session of affected) {
    if (grant) {
      const denied = sessions.tunnelsOf(session).filter((tunnel) => !isAllowed(grant, tunnel));
      for (const tunnel of denied) tunnels.stop(tunnel, "the token's ACL no longer allows it", "agent_denied");
      continue;
    }
    log.info("agent's token revoked", { session: session.id, credential: credentialId });
    expel(session, session.isSsh ? "its SSH key was removed" : "the agent token was revoked");
  }
}

/** Compiles endpoints again whose objects have changed, and closes endpoints whose objects were deleted. */
function renewEndpoints({ tunnels, log }: EnforcementOptions): void {
  for (const tunnel of tunnels.all()) {
    // A tunnel that is not opened yet is compiled with the current objects on its first use.
    if (!tunnel.isOpened) continue;
    try {
      const renewed = tunnel.endpoint?.renewed();
      if (renewed) tunnels.change(tunnel, renewed, tunnel.metadata);
    } catch (error) {
      const why = error instanceof Refusal ? error.message : "an object that its traffic policy uses has changed";
      log.info("endpoint uses a deleted object", { tunnel: tunnel.id, error });
      if (tunnel.isElsewhere) tunnels.close(tunnel);
      else tunnels.stop(tunnel, why, "agent_denied");
    }
  }
}

/** Stops endpoints whose name or port belongs to an edge or is reserved by another account. */
function stopDispossessed({ hosts, addresses, tunnels }: EnforcementOptions): void {
  for (const tunnel of [...hosts.dispossessed(), ...(addresses?.dispossessed() ?? [])]) {
    tunnels.stop(
      tunnel,
      `publish "${tunnel.endpoint?.url}": an edge or a reservation now holds the name`,
      "agent_name_taken",
    );
  }
}

function isAllowed({ acl }: Grant, { endpoint, labels }: Tunnel): boolean {
  if (endpoint) return acl.allowsHost(internalNameOf(endpoint.host), endpoint.port);
  return Object.entries(labels ?? {}).every(([name, value]) => acl.allowsLabel(name, value));
}
