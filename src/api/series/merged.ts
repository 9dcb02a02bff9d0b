/** Adds stored steps by time, account and service. */
import { addTallies, otherServices, trafficOf } from "../../lib/tally.ts";
import type { PackedTally, DurationTally } from "../../lib/tally.ts";
import { floorTo } from "./levels.ts";
import type { StoredStep } from "./series-lines.ts";

export interface MergedLimits {
  /** Maximum number of services of an account in one step. Further ones are added to the other services. */
  readonly services: number;
  /** Maximum number of all tallies. Beyond it, no service is added. Default: no limit. */
  readonly tallies?: number;
}

/** Tallies by start of the step, then by account, then by service. */
export class Merged {
  readonly #steps = new Map<number, Map<string, Map<string, DurationTally>>>();
  readonly #stepMs: number;
  readonly #limits: MergedLimits;
  #count = 0;

  constructor(stepMs: number, limits: MergedLimits) {
    this.#stepMs = stepMs;
    this.#limits = limits;
  }

  get size(): number {
    return this.#steps.size;
  }

  add({ at, accountId, tallies }: StoredStep): void {
    const services = this.#at(floorTo(at, this.#stepMs), accountId);
    const before = services.size;
    const { services: most, tallies: total = Infinity } = this.#limits;
    addTallies(services, tallies, this.#count < total ? most : 0);
    this.#count += services.size - before;
  }

  /** Adds the tallies of the busiest services first, so that the limit sums up the least busy ones. */
  addAll(steps: readonly StoredStep[]): void {
    const traffic = new Map<string, number>();
    for (const { tallies } of steps) {
      for (const one of tallies) traffic.set(one[0], (traffic.get(one[0]) ?? 0) + trafficOf(one));
    }
    const busy = ([{ 0: id }]: readonly [PackedTally]): number => traffic.get(id) ?? 0;
    const single = steps.flatMap((step) => step.tallies.map((one) => ({ ...step, tallies: [one] as const })));
    for (const step of single.sort((one, other) => busy(other.tallies) - busy(one.tallies))) this.add(step);
  }

  /** Returns the steps in order. */
  steps(): readonly StoredStep[] {
    return [...this.#steps]
      .sort(([one], [other]) => one - other)
      .flatMap(([at, accounts]) =>
        Array.from(accounts, ([accountId, services]) => ({
          at,
          accountId,
          tallies: Array.from(services, ([id, tally]) => tally.pack(id)),
        })),
      );
  }

  #at(at: number, accountId: string): Map<string, DurationTally> {
    let accounts = this.#steps.get(at);
    if (!accounts) this.#steps.set(at, (accounts = new Map()));
    let services = accounts.get(accountId);
    if (!services) accounts.set(accountId, (services = new Map()));
    return services;
  }
}

/** Returns the step with the tallies of all its services as one. */
export function sumServices(step: StoredStep): StoredStep {
  return { ...step, tallies: step.tallies.map(([, , ...rest]): PackedTally => [otherServices, "", ...rest]) };
}

/** Returns the number of requests and connections in the steps. */
export function trafficIn(steps: readonly StoredStep[]): number {
  return steps.reduce((sum, { tallies }) => sum + tallies.reduce((all, one) => all + trafficOf(one), 0), 0);
}
