import type { RoutingTable } from "../../../routing/sites/compiled.ts";
import type { ResourceObject } from "../../../schema/object.ts";
import type { Look } from "../../../traffic/module.ts";

/** What policies of agents may name of their account by id, and what that is made of. */
export const namedKinds: ReadonlySet<string> = new Set(["ip_policy", "ip_policy_rule", "certificate_authority"]);

/** What one endpoint names of its account, as it was when the endpoint was made. */
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

  /** Whether all of it is as it was. */
  isCurrent(): boolean {
    return this.#isAsSeen.every((is) => is());
  }

  /** Another account's is not there (P1). */
  #find(kind: string, id: string): ResourceObject | undefined {
    const found = namedKinds.has(kind) ? this.#table.object(kind, id) : undefined;
    return found?.account_id === this.accountId ? found : undefined;
  }
}

function revisionsOf(objects: readonly ResourceObject[]): string {
  return objects.map(({ id, revision }) => `${id} ${revision}`).join();
}
