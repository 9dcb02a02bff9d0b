/** Tunnels that carry the labels of a backend. Updated when tunnels open and close, so that requests need no search. */
import type { UpstreamPlan } from "../../../traffic/upstream-plan.ts";
import type { Tunnel } from "../tunnels/tunnel.ts";

export type GroupPlan = Extract<UpstreamPlan, { kind: "tunnel_group" }>;

export interface TunnelGroup {
  /** Currently matching tunnels. Changes in place. */
  readonly members: readonly Tunnel[];
  /** Number of members at this edge. */
  readonly localCount: number;
  /** Start of the next choice among equal members. */
  turn: number;
}

export interface TunnelGroups {
  /** The time depends on the number of groups with the tunnel's labels, not on the number of tunnels. */
  add(tunnel: Tunnel): void;
  remove(tunnel: Tunnel): void;
  /** Returns the other tunnels of the account with the same labels. */
  alike(tunnel: Tunnel): readonly Tunnel[];
  /** Returns the group of a backend: online tunnels of its account with at least its labels. */
  of(plan: GroupPlan): TunnelGroup;
}

interface GroupState extends TunnelGroup {
  readonly key: string;
  /** The first of its labels, under which the group is found when a tunnel opens or closes. */
  readonly anchor: string;
  readonly accountId: string;
  readonly labels: readonly (readonly [string, string])[];
  readonly members: Tunnel[];
  localCount: number;
  used: boolean;
}

/** Number of new groups after which unused ones are removed. */
const sweepEvery = 1000;

export function makeTunnelGroups(): TunnelGroups {
  const labelled = new Map<string, Set<Tunnel>>();
  const groups = new Map<string, GroupState>();
  const byAnchor = new Map<string, Set<GroupState>>();
  let byPlan = new WeakMap<GroupPlan, GroupState>();
  let made = 0;

  const concerned = function* (tunnel: Tunnel): Iterable<GroupState> {
    const labels = tunnel.labels ?? {};
    for (const [name, value] of Object.entries(labels)) {
      for (const group of byAnchor.get(anchorOf(tunnel.session.accountId, name, value)) ?? []) {
        if (group.labels.every(([key, wanted]) => labels[key] === wanted)) yield group;
      }
    }
  };
  const sweep = (): void => {
    byPlan = new WeakMap();
    for (const group of groups.values()) {
      if (!group.used) {
        groups.delete(group.key);
        const siblings = byAnchor.get(group.anchor);
        siblings?.delete(group);
        if (siblings?.size === 0) byAnchor.delete(group.anchor);
      }
      group.used = false;
    }
  };
  const open = (plan: GroupPlan): GroupState => {
    const labels = Object.entries(plan.labels).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([plan.accountId, labels]);
    const known = groups.get(key);
    if (known) return known;
    made += 1;
    if (made % sweepEvery === 0) sweep();
    const [name, value] = labels[0] ?? ["", ""];
    const anchor = anchorOf(plan.accountId, name, value);
    const members = [...(labelled.get(plan.accountId) ?? [])].filter(
      (tunnel) => labels.length > 0 && labels.every(([one, wanted]) => tunnel.labels?.[one] === wanted),
    );
    const localCount = members.filter(({ isElsewhere }) => !isElsewhere).length;
    const entry = { key, anchor, accountId: plan.accountId, labels, members, localCount, turn: 0, used: true };
    groups.set(key, entry);
    const siblings = byAnchor.get(anchor);
    if (siblings) siblings.add(entry);
    else byAnchor.set(anchor, new Set([entry]));
    return entry;
  };

  return {
    add(tunnel) {
      const accountId = tunnel.session.accountId;
      const siblings = labelled.get(accountId);
      if (siblings) siblings.add(tunnel);
      else labelled.set(accountId, new Set([tunnel]));
      for (const group of concerned(tunnel)) {
        group.members.push(tunnel);
        if (!tunnel.isElsewhere) group.localCount += 1;
      }
    },
    remove(tunnel) {
      const siblings = labelled.get(tunnel.session.accountId);
      siblings?.delete(tunnel);
      if (siblings?.size === 0) labelled.delete(tunnel.session.accountId);
      for (const group of concerned(tunnel)) {
        const at = group.members.indexOf(tunnel);
        if (at < 0) continue;
        group.members.splice(at, 1);
        if (!tunnel.isElsewhere) group.localCount -= 1;
      }
    },
    alike(tunnel) {
      const labels = Object.entries(tunnel.labels ?? {});
      return [...(labelled.get(tunnel.session.accountId) ?? [])].filter(
        (one) => one !== tunnel && labels.every(([name, value]) => one.labels?.[name] === value),
      );
    },
    of(plan) {
      let group = byPlan.get(plan);
      if (!group) byPlan.set(plan, (group = open(plan)));
      group.used = true;
      return group;
    },
  };
}

function anchorOf(accountId: string, name: string, value: string): string {
  return `${accountId}\0${name}\0${value}`;
}
