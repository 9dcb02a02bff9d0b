/** Finds the rows of a replica by account and by label. */
import { makeLabelIndex } from "./labels.ts";
import type { Labels } from "./labels.ts";

/** Fields of a tunnel that the index needs. */
interface IndexedTunnel {
  readonly id: string;
  readonly accountId: string;
  readonly labels?: Labels | undefined;
}

export class AgentIndex {
  readonly sessions = new NumbersByAccount();
  readonly tunnels = new NumbersByAccount();
  readonly #labels = makeLabelIndex<number>();

  addTunnel({ id, accountId, labels }: IndexedTunnel, number: number): void {
    this.tunnels.add(accountId, number);
    if (labels) this.#labels.add(accountId, id, labels, number);
  }

  removeTunnel({ id, accountId, labels }: IndexedTunnel, number: number): void {
    this.tunnels.remove(accountId, number);
    if (labels) this.#labels.remove(accountId, id, labels);
  }

  /** Returns the ids of an account's tunnels that have all of `labels`. */
  findLabelled(accountId: string, labels: Labels): readonly string[] {
    return this.#labels.findHaving(accountId, labels);
  }
}

/** Row numbers by account. */
class NumbersByAccount {
  readonly #byAccount = new Map<string, Set<number>>();

  of(accountId: string): Iterable<number> {
    return this.#byAccount.get(accountId) ?? [];
  }

  add(accountId: string, number: number): void {
    const numbers = this.#byAccount.get(accountId);
    if (numbers) numbers.add(number);
    else this.#byAccount.set(accountId, new Set([number]));
  }

  remove(accountId: string, number: number): void {
    const numbers = this.#byAccount.get(accountId);
    numbers?.delete(number);
    if (numbers?.size === 0) this.#byAccount.delete(accountId);
  }
}
