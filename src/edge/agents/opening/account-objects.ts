import type { RoutingTable } from "../../../routing/sites/compiled-site.ts";
import type { ResourceObject } from "../../../schema/object.ts";
import type { Look } from "../../../traffic/module.ts";

/** Kinds of account objects that agents' policies may name by id, and the kinds of their parts. */
export const namedKinds: ReadonlySet<string> = new Set(["ip_policy", "ip_policy_rule", "certificate_authority"]);

/** Objects of the account that one endpoint names, as of its compilation. */
export class AccountObjects implements Look {
  readonly accountId: string;
  readonly #table: Pick<RoutingTable, "object" | "children">;
  readonly #isAsSeen: (() => boolean)[] = [];

  constructor(table: Pick<RoutingTable, "object" | "children">, accountId: string) {
    this.#table = table;
    this.accountId = accountId;
  }

  get(kind: string, id: string): ResourceObject | undefined {
    const seen = this.#find(kind, id)?.revision;
    this.#isAsSeen.push(() => this.#find(kind, id)?.revision === seen);
    return this.#find(kind, id);
  }

  children(kind: string, parentId: string): readonly ResourceObject[] {
    const found = namedKinds.has(kind) ? this.#table.children(kind, parentId, this.accountId) : [];
    const seen = revisionsOf(found);
    this.#isAsSeen.push(() => revisionsOf(this.#table.children(kind, parentId, this.accountId)) === seen);
    return found;
  }

  /** Whether all objects are unchanged. */
  isCurrent(): boolean {
    return this.#isAsSeen.every((is) => is());
  }

  /** Objects of other accounts are not found (P1). */
  #find(kind: string, id: string): ResourceObject | undefined {
    const found = namedKinds.has(kind) ? this.#table.object(kind, id) : undefined;
    return found?.account_id === this.accountId ? found : undefined;
  }
}

function revisionsOf(objects: readonly ResourceObject[]): string {
  return objects.map(({ id, revision }) => `${id} ${revision}`).join();
}
