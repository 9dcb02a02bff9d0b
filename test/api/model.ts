/** A model of the API, too simple to be wrong: a list of objects, always searched from end to end. */

export type Doc = Readonly<Record<string, unknown>>;
export type Kind = "bot_user" | "ip_policy" | "ip_policy_rule" | "https_edge" | "https_edge_route";

export interface Entry {
  readonly kind: Kind;
  readonly id: string;
  readonly doc: Doc;
}

interface Facts {
  readonly collection: (doc: Doc) => string;
  readonly owner?: string;
  readonly names: (doc: Doc) => readonly string[];
  readonly refs: (doc: Doc) => readonly unknown[];
  /** The client's view of it. */
  readonly shown: (doc: Doc) => Doc;
}

const idsOf = (doc: Doc): readonly string[] =>
  (doc["ip_restriction"] as { readonly ip_policy_ids: readonly string[] } | null)?.ip_policy_ids ?? [];

export const facts: Readonly<Record<Kind, Facts>> = {
  bot_user: {
    collection: () => "/bot_users",
    names: ({ name }) => [`bot ${String(name)}`],
    refs: () => [],
    shown: ({ name, active }) => ({ name, active }),
  },
  ip_policy: {
    collection: () => "/ip_policies",
    names: () => [],
    refs: () => [],
    shown: ({ description, metadata }) => ({ description, metadata }),
  },
  ip_policy_rule: {
    collection: () => "/ip_policy_rules",
    owner: "ip_policy_id",
    names: (doc) => [`rule ${String(doc["ip_policy_id"])} ${String(doc["cidr"])}`],
    refs: (doc) => [doc["ip_policy_id"]],
    shown: ({ ip_policy_id, cidr, action }) => ({ ip_policy: ip_policy_id, cidr, action }),
  },
  https_edge: {
    collection: () => "/edges/https",
    names: (doc) => doc["hostports"] as readonly string[],
    refs: () => [],
    shown: ({ description, hostports }) => ({ description, hostports }),
  },
  https_edge_route: {
    collection: (doc) => `/edges/https/${String(doc["edge_id"])}/routes`,
    owner: "edge_id",
    names: (doc) => [`route ${String(doc["edge_id"])} ${String(doc["match_type"])} ${String(doc["match"])}`],
    refs: idsOf,
    shown: (doc) => ({
      edge_id: doc["edge_id"],
      match_type: doc["match_type"],
      match: doc["match"],
      ip_restriction: doc["ip_restriction"] === null ? null : idsOf(doc),
    }),
  },
};

export class Model {
  entries: Entry[] = [];

  copy(): Model {
    const copy = new Model();
    copy.entries = [...this.entries];
    return copy;
  }

  of(kind: Kind): Entry[] {
    return this.entries.filter((entry) => entry.kind === kind).sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** The status that the write is answered with; success changes the model. */
  put(entry: Entry, success: number): number {
    const { names, refs, owner } = facts[entry.kind];
    const others = this.entries.filter(({ id }) => id !== entry.id);
    const known = new Set<unknown>(this.entries.map(({ id }) => id));
    if (entry.kind === "https_edge_route" && !known.has(entry.doc[owner as string])) return 404;
    if (refs(entry.doc).some((id) => !known.has(id))) return 404;
    const held = new Set(others.flatMap((other) => facts[other.kind].names(other.doc)));
    if (names(entry.doc).some((name) => held.has(name))) return 409;
    this.entries = [...others, entry];
    return success;
  }

  remove(target: string): number {
    if (!this.entries.some(({ id }) => id === target)) return 404;
    const going = new Set([target, ...this.ownedBy(target)]);
    const staying = this.entries.filter(({ id }) => !going.has(id));
    if (staying.some(({ kind, doc }) => facts[kind].refs(doc).some((id) => going.has(id as string)))) return 409;
    this.entries = staying;
    return 204;
  }

  ownedBy(target: string): string[] {
    return this.entries
      .filter(({ kind, doc }) => facts[kind].owner !== undefined && doc[facts[kind].owner] === target)
      .map(({ id }) => id);
  }
}
