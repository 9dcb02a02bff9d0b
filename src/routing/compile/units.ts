import type { Clock } from "../../lib/clock.ts";
import type { Look, Scope } from "../../traffic/module.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { endpointSite } from "./cloud-endpoints.ts";
import { childrenKey, objectKey, ownerOf } from "./object-set.ts";
import type { ObjectSet } from "./object-set.ts";

/** Something compiled, and what it asked for while it was. */
export interface Unit {
  dependencies: readonly string[];
  kept: readonly string[];
}

export const nothing: readonly string[] = Object.freeze([]);

interface Shared extends Unit {
  readonly name: string;
  result: { readonly value: unknown } | { readonly error: unknown };
}

/**
 * The memory of who looked at what: which units a change makes stale, what they share, and the state that they
 * keep. Nothing here knows what a unit is.
 */
export class Units {
  readonly #objects: ObjectSet;
  readonly #clock: Clock;
  /** Who looked, by the name of what they looked at. */
  readonly #dependents = new Map<string, Set<Unit>>();
  readonly #shared = new Map<string, Shared>();
  readonly #kept = new Map<string, { readonly value: unknown; users: number }>();

  constructor(objects: ObjectSet, clock: Clock) {
    this.#objects = objects;
    this.#clock = clock;
  }

  /**
   * Runs `compile` for `unit`, remembering what it asks for instead of what it asked for the last time. State
   * that is asked for again is the same; state that nobody asks for any more is dropped.
   */
  compile<T>(unit: Unit, object: ResourceObject, compile: (scope: Scope) => T): T {
    const { dependencies, kept } = unit;
    const asked: Asked = { dependencies: [], kept: [] };
    try {
      return compile(this.#scope(unit, asked, object));
    } finally {
      // One empty list for all: most units ask for nothing.
      unit.dependencies = asked.dependencies.length === 0 ? nothing : asked.dependencies;
      unit.kept = asked.kept.length === 0 ? nothing : asked.kept;
      this.#drop(unit, dependencies, kept);
    }
  }

  /** Nothing was ever looked at: nothing can be stale. */
  get isEmpty(): boolean {
    return this.#dependents.size === 0;
  }

  /** Counts `name` among what `unit` looked at when it was last compiled. */
  watch(unit: Unit, name: string): void {
    const asked: Asked = { dependencies: [...unit.dependencies], kept: [] };
    this.#depend(unit, asked, name);
    unit.dependencies = asked.dependencies;
  }

  /** Forgets a unit that is gone. */
  release(unit: Unit): void {
    const { dependencies, kept } = unit;
    unit.dependencies = nothing;
    unit.kept = nothing;
    this.#drop(unit, dependencies, kept);
  }

  /** Adds to `into` whoever looked at `name`, directly or through something shared, which is then made anew. */
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

  #depend(unit: Unit, asked: Asked, name: string): void {
    if (asked.dependencies.includes(name)) return;
    asked.dependencies.push(name);
    let dependents = this.#dependents.get(name);
    if (!dependents) this.#dependents.set(name, (dependents = new Set()));
    dependents.add(unit);
  }

  #look(unit: Unit, asked: Asked, accountId: string): Look {
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

  #scope(unit: Unit, asked: Asked, object: ResourceObject): Scope {
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

  #share(name: string, accountId: string, make: (look: Look) => unknown): Shared {
    const present = this.#shared.get(name);
    if (present) return present;
    const asked: Asked = { dependencies: [], kept: [] };
    const shared: Shared = { name, dependencies: asked.dependencies, kept: nothing, result: { value: undefined } };
    try {
      shared.result = { value: make(this.#look(shared, asked, accountId)) };
    } catch (error) {
      shared.result = { error };
    }
    this.#shared.set(name, shared);
    return shared;
  }
}

interface Asked {
  readonly dependencies: string[];
  readonly kept: string[];
}

function isShared(unit: Unit): unit is Shared {
  return "result" in unit;
}
