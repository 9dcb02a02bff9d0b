/** The menu: what people want to do first, and the kinds of objects of the API last. */
import { Activity, Boxes, Globe, LayoutDashboard, RotateCcwClock, Server, Settings, Users } from "lucide";
import type { IconNode } from "lucide";
import { session } from "./api.ts";
import { titleOf } from "./description.ts";
import type { Description, Kind } from "./description.ts";

export interface MenuItem {
  readonly path: string;
  readonly name: string;
  /** Key after `g`. */
  readonly key?: string;
  /** Purpose, in one sentence. */
  readonly doc?: string;
}

export interface MenuPart extends MenuItem {
  readonly icon: IconNode;
  /** Shown while a page of this part is open. */
  readonly items: readonly MenuItem[];
}

/** Kinds with special views, which the list of other kinds omits. */
export const hands: ReadonlySet<string> = new Set(["https_edge_route"]);

const publish: MenuItem = {
  path: "publish",
  name: "Publish",
  key: "p",
  doc: "Give a local port a public address, and choose who may use it.",
};
const inbox: MenuItem = {
  path: "inbox",
  name: "Inbox",
  key: "b",
  doc: "Webhooks that wait, that were delivered, and that could not be delivered.",
};
const explain: MenuItem = {
  path: "explain",
  name: "Explain",
  key: "x",
  doc: "Describe a request to see what Postern would do with it. No request is sent.",
};
const webhooks: MenuItem = {
  path: "webhooks",
  name: "Webhooks",
  key: "w",
  doc: "Sign a sample webhook to see whether a route accepts it.",
};
const logins: MenuItem = {
  path: "logins",
  name: "Logins",
  key: "l",
  doc: "Who logged in to your services, and what to register at identity providers.",
};
const invite: MenuItem = {
  path: "invite",
  name: "Invite an agent",
  key: "i",
  doc: "Create a command that connects another machine to this server.",
};
const people: MenuItem = {
  path: "people",
  name: "People",
  key: "u",
  doc: "Who may use this console: roles, invitations and sessions.",
};
const events: MenuItem = {
  path: "events",
  name: "Events",
  key: "v",
  doc: "Where Postern sends events, and whether they arrived.",
};

/** Menu entries; a kind of objects stands for its list. */
const parts: readonly (Omit<MenuPart, "items"> & { readonly items: readonly (MenuItem | string)[] })[] = [
  { path: "overview", name: "Overview", key: "o", icon: LayoutDashboard, items: [] },
  {
    path: "services",
    name: "Services",
    key: "s",
    icon: Globe,
    doc: "Public addresses, who may reach them, and where they lead.",
    items: [publish],
  },
  {
    path: "traffic",
    name: "Traffic",
    key: "t",
    icon: Activity,
    doc: "Requests as they arrive, with the reason for each decision.",
    items: [inbox, explain, webhooks],
  },
  {
    path: "access",
    name: "Access",
    key: "a",
    icon: Users,
    doc: "People, sessions, keys, tokens and rules: who may do what.",
    items: [
      people,
      logins,
      "application_user",
      "application_session",
      "api_key",
      "credential",
      "ssh_credential",
      "ssh_certificate_authority",
      "ip_policy",
      "bot_user",
      "console_session",
    ],
  },
  {
    path: "machines",
    name: "Nodes and agents",
    key: "n",
    icon: Server,
    doc: "Servers that run Postern, and machines that connect services to them.",
    items: [invite, "tunnel_session", "tunnel", "endpoint", "agent_invitation", "node"],
  },
  {
    path: "history",
    name: "History",
    key: "h",
    icon: RotateCcwClock,
    doc: "Every change, and how to undo it.",
    items: [],
  },
  {
    path: "settings",
    name: "Settings",
    icon: Settings,
    doc: "Domains, certificates, events, secrets and accounts.",
    items: [
      "reserved_domain",
      "tls_certificate",
      "certificate_authority",
      events,
      "event_destination",
      "event_subscription",
      "vault",
      "secret",
      "account",
    ],
  },
];

const kindGroups: readonly (readonly [title: string, ...kinds: string[]])[] = [
  ["Addresses", "https_edge", "tls_edge", "tcp_edge", "cloud_endpoint", "reserved_domain", "reserved_addr"],
  ["Connected", "endpoint", "tunnel_session", "tunnel", "node"],
  [
    "Backends",
    "tunnel_group_backend",
    "static_backend",
    "weighted_backend",
    "failover_backend",
    "http_response_backend",
  ],
  ["Rules", "ip_policy", "ip_policy_rule", "ip_restriction", "certificate_authority", "tls_certificate"],
  ["Logins", "application_user", "application_session"],
  [
    "Access",
    "person",
    "passkey",
    "person_invitation",
    "api_key",
    "credential",
    "ssh_credential",
    "ssh_certificate_authority",
    "agent_invitation",
    "bot_user",
    "console_session",
    "account",
  ],
  ["Events", "event_destination", "event_subscription"],
  ["Secrets", "vault", "secret"],
];

/** @param open path of the open list of objects, which the menu shows below "All objects" if it has no other place */
export function buildMenu(description: Description | undefined, open?: string): readonly MenuPart[] {
  const kinds = kindsOf(description);
  const found = parts.map((part) => ({
    ...part,
    items: part.items.flatMap((one) => {
      if (typeof one !== "string") return [one];
      const kind = kinds.find(({ name }) => name === one);
      return kind ? [itemOf(kind)] : [];
    }),
  }));
  const placed = found.flatMap(({ path, items }) => [path, ...items.map((item) => item.path)]);
  const isElsewhere = open === undefined || placed.includes(open);
  const rest = isElsewhere ? [] : kinds.map(itemOf).filter(({ path }) => path === open);
  const all = {
    path: "objects",
    name: "All objects",
    icon: Boxes,
    doc: "Every kind of object of the API.",
    items: rest,
  };
  return [...found, all];
}

/** Returns the entries for all kinds, in groups. */
export function kindsInGroups(
  description: Description,
): readonly { readonly title: string; readonly items: readonly MenuItem[] }[] {
  const kinds = kindsOf(description);
  const named = new Set(kindGroups.flatMap(([, ...names]) => names));
  const more: readonly string[] = kinds.map(({ name }) => name).filter((name) => !named.has(name));
  return [...kindGroups, ["More", ...more] as const]
    .map(([title, ...names]) => ({
      title,
      items: names.flatMap((name) => kinds.filter((kind) => kind.name === name).map(itemOf)),
    }))
    .filter(({ items }) => items.length > 0);
}

function kindsOf(description: Description | undefined): readonly Kind[] {
  return [...(description?.kinds.values() ?? [])].filter(
    (kind) => kind.list !== undefined && kind.parents === 0 && mayList(kind),
  );
}

function itemOf({ name, doc }: Kind): MenuItem {
  return { path: name === "https_edge" ? "edges" : `objects/${name}`, name: pluralName(name), doc };
}

/** Whether the logged-in user may list objects of the kind. */
function mayList({ name, operatorOnly }: Kind): boolean {
  const key = session.value?.api_key;
  if (operatorOnly === true && key?.operator !== true) return false;
  const kinds = key?.scopes.filter((scope) => scope.startsWith("type:")) ?? [];
  return kinds.length === 0 || kinds.includes("type:*") || kinds.includes(`type:${name}`);
}

export function pluralName(name: string): string {
  return `${titleOf(name)}s`.replace(/([^aeiou])ys$/, "$1ies").replace(/sss$/, "sses");
}
