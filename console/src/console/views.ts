/** The entries of the menu: special views, then all other kinds of objects. */
import { session } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description, Kind } from "./description.ts";

export interface MenuItem {
  readonly path: string;
  readonly name: string;
  /** Key after `g`. */
  readonly key?: string;
}

interface MenuPart {
  readonly title: string;
  readonly items: readonly MenuItem[];
}

/** Kinds with special views, which the list of other kinds omits. */
export const hands: ReadonlySet<string> = new Set(["https_edge_route"]);

const own: readonly MenuItem[] = [
  { path: "overview", name: "Overview", key: "o" },
  { path: "traffic", name: "Traffic", key: "t" },
  { path: "edges", name: "Edges", key: "e" },
  { path: "publish", name: "Publish", key: "p" },
  { path: "explain", name: "Explain", key: "x" },
  { path: "history", name: "History", key: "h" },
];

const parts: readonly (readonly [title: string, ...kinds: string[]])[] = [
  ["Connected", "endpoint", "tunnel_session", "tunnel", "node"],
  ["Rules", "ip_policy", "ip_policy_rule", "ip_restriction", "certificate_authority", "tls_certificate"],
  ["Names", "reserved_domain", "reserved_addr", "cloud_endpoint", "tls_edge", "tcp_edge"],
  [
    "Backends",
    "tunnel_group_backend",
    "static_backend",
    "weighted_backend",
    "failover_backend",
    "http_response_backend",
  ],
  ["Logins", "application_user", "application_session"],
  ["Access", "api_key", "credential", "agent_invitation", "bot_user", "console_session", "account"],
  ["Events", "event_destination", "event_subscription"],
  ["Secrets", "vault", "secret"],
];

/** Special views among the other kinds, first in their section. */
const among: Readonly<Record<string, readonly MenuItem[]>> = {
  Connected: [{ path: "invite", name: "Invite an agent", key: "i" }],
  Rules: [{ path: "webhooks", name: "Webhooks", key: "w" }],
  Logins: [{ path: "logins", name: "Logins", key: "l" }],
  Events: [{ path: "events", name: "Events", key: "v" }],
};

export function nav(description: Description | undefined): readonly MenuPart[] {
  const kinds = [...(description?.kinds.values() ?? [])]
    .filter((kind) => kind.list !== undefined && kind.parents === 0 && mayList(kind))
    .map(({ name }) => name);
  const named = new Set(parts.flatMap(([, ...names]) => names));
  const item = (name: string): MenuItem => ({ path: `objects/${name}`, name: plural(name) });
  const rest = kinds.filter((name) => !named.has(name) && name !== "https_edge");
  return [
    { title: "Now", items: own },
    ...parts.map(([title, ...names]) => ({
      title,
      items: [...(among[title] ?? []), ...names.filter((name) => kinds.includes(name)).map(item)],
    })),
    ...(rest.length > 0 ? [{ title: "More", items: rest.map(item) }] : []),
  ].filter(({ items }) => items.length > 0);
}

/** Whether the logged-in user may list objects of the kind. */
function mayList({ name, operatorOnly }: Kind): boolean {
  const key = session.value?.api_key;
  if (operatorOnly === true && key?.operator !== true) return false;
  const kinds = key?.scopes.filter((scope) => scope.startsWith("type:")) ?? [];
  return kinds.length === 0 || kinds.includes("type:*") || kinds.includes(`type:${name}`);
}

export function plural(name: string): string {
  return `${titleOf(name)}s`.replace(/([^aeiou])ys$/, "$1ies").replace(/sss$/, "sses");
}
