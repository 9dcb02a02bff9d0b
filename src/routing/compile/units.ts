import type { Clock } from "../../lib/clock.ts";
import type { Look, Scope } from "../../traffic/module.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { endpointSite } from "./endpoint-objects.ts";
import { childrenKey, objectKey, ownerOf } from "./object-set.ts";
import type { ObjectSet } from "./object-set.ts";

/** A compiled unit, with what it requested during compilation. */
export interface Unit {
  dependencies: readonly string[];
  kept: readonly string[];
}

export const nothing: readonly string[] = Object.freeze([]);

interface SharedUnits extends Unit {
  readonly name: string;
  result: { readonly value: unknown } | { readonly error: unknown };
}

/**
 * Tracks dependencies: which units a change makes stale, what they share, and the state that they keep. It is
 * independent of what units are.
 */
export class Units {
  readonly #objects: ObjectSet;
  readonly #clock: Clock;
  /** Units by the name of what they depend on. */
  readonly #dependents = new Map<string, Set<Unit>>();
  readonly #shared = new Map<string, SharedUnits>();
  readonly #kept = new Map<string, { readonly value: unknown; users: number }>();

  constructor(objects: ObjectSet, clock: Clock) {
    this.#objects = objects;
    this.#clock = clock;
  }

  /**
   * Runs `compile` for `unit`, and replaces its recorded dependencies. Kept state that is requested again stays the
   * same. State that no unit requests any more is dropped.
   */
  compile<T>(unit: Unit, object: ResourceObject, compile: (scope: Scope) => T): T {
    const { dependencies, kept } = unit;
    const asked: UnitUses = { dependencies: [], kept: [] };
    try {
      return compile(this.#scope(unit, asked, object));
    } finally {
      // Most units request nothing, so they share one empty list.
      unit.dependencies = asked.dependencies.length === 0 ? nothing : asked.dependencies;
      unit.kept = asked.kept.length === 0 ? nothing : asked.kept;
      this.#drop(unit, dependencies, kept);
    }
  }

  /** Whether there are no dependencies, so that nothing can become stale. */
  get isEmpty(): boolean {
    return this.#dependents.size === 0;
  }

  /** Adds `name` to the dependencies of `unit`. */
  watch(unit: Unit, name: string): void {
    const asked: UnitUses = { dependencies: [...unit.dependencies], kept: [] };
    this.#depend(unit, asked, name);
    unit.dependencies = asked.dependencies;
  }

  /** Removes a deleted unit. */
  release(unit: Unit): void {
    const { dependencies, kept } = unit;
    unit.dependencies = nothing;
    unit.kept = nothing;
    this.#drop(unit, dependencies, kept);
  }

  /**
   * Adds to `into` all units that depend on `name`, directly or through a shared value. Such shared values are
   * recomputed.
   */
  stale(name: string, into: Set<Unit>): void {
    for (const unit of this.#dependents.get(name) ?? []) {
      if (!isShared(unit)) {
        into.add(unit);
      } else if (this.#shared.get(unit.name) === unit) {
        this.#shared.delete(unit.name);
        this.stale(unit.name, into);
        this.release(unit);
      }
    }
  }

  #drop(unit: Unit, dependencies: readonly string[], kept: readonly string[]): void {
    for (const name of dependencies) {
      if (unit.dependencies.includes(name)) continue;
      const dependents = this.#dependents.get(name);
      if (!dependents?.delete(unit) || dependents.size > 0) continue;
      this.#dependents.delete(name);
      const shared = this.#shared.get(name);
      if (!shared) continue;
      this.#shared.delete(name);
      this.release(shared);
    }
    for (const key of kept) {
      const state = this.#kept.get(key);
      if (!state) continue;
      state.users -= 1;
      if (state.users === 0) this.#kept.delete(key);
    }
  }

  #depend(unit: Unit, asked: UnitUses, name: string): void {
    if (asked.dependencies.includes(name)) return;
    asked.dependencies.push(name);
    let dependents = this.#dependents.get(name);
    if (!dependents) this.#dependents.set(name, (dependents = new Set()));
    dependents.add(unit);
  }

  #look(unit: Unit, asked: UnitUses, accountId: string): Look {
    return {
      accountId,
      get: (kind, id) => {
        this.#depend(unit, asked, objectKey(kind, id));
        const found = this.#objects.get(kind, id);
        return found?.account_id === accountId ? found : undefined;
      },
      children: (kind, ownerId) => {
        this.#depend(unit, asked, childrenKey(kind, ownerId));
        return this.#objects.children(kind, ownerId, accountId);
      },
    };
  }

  #scope(unit: Unit, asked: UnitUses, object: ResourceObject): Scope {
    const { account_id: accountId } = object;
    return {
      ...this.#look(unit, asked, accountId),
      ownerId: object.id,
      siteId: endpointSite(object, this.#objects.get("https_edge", object.id)) ?? ownerOf(object) ?? object.id,
      revision: object.revision,
      clock: this.#clock,
      shared: (key, make) => {
        const shared = this.#share(`shared ${accountId} ${key}`, accountId, make);
        this.#depend(unit, asked, shared.name);
        if ("error" in shared.result) throw shared.result.error;
        return shared.result.value as ReturnType<typeof make>;
      },
      keep: (key, make) => {
        const name = `${accountId} ${key}`;
        let state = this.#kept.get(name);
        if (!state) this.#kept.set(name, (state = { value: make(), users: 0 }));
        if (!asked.kept.includes(name)) {
          asked.kept.push(name);
          state.users += 1;
        }
        return state.value as ReturnType<typeof make>;
      },
    };
  }

  #share(name: string, accountId: string, make: (look: Look) => unknown): SharedUnits {
    const present = this.#shared.get(name);
    if (present) return present;
    const asked: UnitUses = { dependencies: [], kept: [] };
    const shared: SharedUnits = { name, dependencies: asked.dependencies, kept: nothing, result: { value: undefined } };
    try {
      shared.result = { value: make(this.#look(shared, asked, accountId)) };
    } catch (error) {
      shared.result = { error };
    }
    this.#shared.set(name, shared);
    return shared;
  }
}

interface UnitUses {
  readonly dependencies: string[];
  readonly kept: string[];
}

function isShared(unit: Unit): unit is SharedUnits {
  return "result" in unit;
}
