import type { AgentSession } from "../../../tunnel/server-hooks.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

/** Connected agents by session id, account and credential, with their tunnels. */
export interface SessionBook {
  add(session: AgentSession): void;
  /** Returns the tunnels of the session. Undefined if the session was not in the book. */
  remove(session: AgentSession): readonly Tunnel[] | undefined;
  has(session: AgentSession): boolean;
  byId(id: string): AgentSession | undefined;
  all(): AgentSession[];
  ofCredential(credentialId: string): AgentSession[];
  countOfAccount(accountId: string): number;
  addTunnel(tunnel: Tunnel): void;
  removeTunnel(tunnel: Tunnel): void;
  /** Counts one more (1) or one fewer (-1) of the account's tunnels at other edges. */
  countElsewhere(accountId: string, by: 1 | -1): void;
  tunnelsOf(session: AgentSession): readonly Tunnel[];
  tunnelCounts(session: AgentSession): { readonly inSession: number; readonly inAccount: number };
}

export function makeSessionBook(): SessionBook {
  const byId = new Map<string, AgentSession>();
  const held = new Map<AgentSession, Set<Tunnel>>();
  const byCredential = new Map<string, Set<AgentSession>>();
  const accounts = new Map<string, { sessions: number; tunnels: number }>();

  const countsOf = (accountId: string): { sessions: number; tunnels: number } => {
    let counts = accounts.get(accountId);
    if (!counts) accounts.set(accountId, (counts = { sessions: 0, tunnels: 0 }));
    return counts;
  };
  const tidy = (accountId: string, { sessions, tunnels }: { sessions: number; tunnels: number }): void => {
    if (sessions === 0 && tunnels === 0) accounts.delete(accountId);
  };
  const count = (accountId: string, by: 1 | -1): void => {
    const counts = countsOf(accountId);
    counts.tunnels += by;
    tidy(accountId, counts);
  };
  return {
    add(session) {
      byId.set(session.id, session);
      held.set(session, new Set());
      const siblings = byCredential.get(session.credentialId);
      if (siblings) siblings.add(session);
      else byCredential.set(session.credentialId, new Set([session]));
      countsOf(session.accountId).sessions += 1;
    },
    remove(session) {
      const tunnels = held.get(session);
      if (!tunnels) return undefined;
      const last = [...tunnels];
      held.delete(session);
      if (byId.get(session.id) === session) byId.delete(session.id);
      const siblings = byCredential.get(session.credentialId);
      siblings?.delete(session);
      if (siblings?.size === 0) byCredential.delete(session.credentialId);
      const counts = countsOf(session.accountId);
      counts.sessions -= 1;
      counts.tunnels -= last.length;
      tidy(session.accountId, counts);
      return last;
    },
    has: (session) => held.has(session),
    byId: (id) => byId.get(id),
    all: () => [...held.keys()],
    ofCredential: (credentialId) => [...(byCredential.get(credentialId) ?? [])],
    countOfAccount: (accountId) => accounts.get(accountId)?.sessions ?? 0,
    addTunnel(tunnel) {
      held.get(tunnel.session)?.add(tunnel);
      count(tunnel.session.accountId, 1);
    },
    removeTunnel(tunnel) {
      if (held.get(tunnel.session)?.delete(tunnel) || tunnel.isElsewhere) count(tunnel.session.accountId, -1);
    },
    countElsewhere: count,
    tunnelsOf: (session) => [...(held.get(session) ?? [])],
    tunnelCounts: (session) => ({
      inSession: held.get(session)?.size ?? 0,
      inAccount: accounts.get(session.accountId)?.tunnels ?? 0,
    }),
  };
}
