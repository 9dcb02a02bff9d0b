import type { Clock } from "../../lib/clock.ts";
import { configuredKind } from "./endpoint-objects.ts";
import { markOf } from "../../lib/work-mark.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";
import type { ModulePlace, ResourceObject } from "../../schema/object.ts";
import { AccountRestrictions } from "./account-restrictions.ts";
import { CompileError, compileChain, emptyChain, isBlock } from "./module-chain.ts";
import type { Chain } from "./module-chain.ts";
import type { ConnectionSite, Site } from "../sites/compiled-site.ts";
import { Hosts } from "./hosts.ts";
import type { Problem } from "../planes/messages.ts";
import { objectKey, ObjectSet } from "./object-set.ts";
import type { ModuleConfiguration } from "./prepare-modules.ts";
import { Secrets } from "./routing-secrets.ts";
import { Units } from "./units.ts";
import type { Unit } from "./units.ts";

const heldThread =
  "stopped: it blocked a thread of the server until the watchdog stopped it; change it to serve it again";

/** An object to compile. Its compiler adds the compiled result. */
export interface Owner extends Unit {
  object: ResourceObject;
  problem: Problem | undefined;
}

/** An edge that is found by host name. */
export interface HostOwner extends Owner {
  /** Set while the edge is in effect. */
  site: Site | ConnectionSite | undefined;
}

/** Compiles objects of one kind, and puts them into and out of effect. */
export interface Compiler<O extends Owner = Owner> {
  readonly kind: string;
  readonly owners: Map<string, O>;
  /** Returns an uncompiled owner for a new object. */
  own(object: ResourceObject): O;
  compile(owner: O, again: Again): void;
  /** Removes the compiled result of `owner` from all lookups. Idempotent. */
  withdraw(owner: O): void;
  /** Called after the object was deleted and withdrawn. */
  forget?(owner: O, again: Again): void;
}

/** Recompiles other objects in the same change, only of kinds that come later in the order. */
export interface Again {
  one(kind: string, id: string): void;
  /** Recompiles all objects of these kinds in the account. */
  all(kinds: readonly string[], accountId: string): void;
}

/** State that the compilers share. */
export class Compilation {
  readonly objects = new ObjectSet();
  readonly units: Units;
  readonly hosts = new Hosts<HostOwner>();
  readonly restrictions = new AccountRestrictions();
  readonly secrets = new Secrets();
  readonly #modules: Readonly<Record<ModulePlace, ReadonlyMap<string, ModuleDeclaration>>>;

  /** Marks of work that hung a thread. */
  readonly refused: ReadonlySet<number>;

  constructor(clock: Clock, declared: readonly ModuleDeclaration[], refused: ReadonlySet<number>) {
    this.refused = refused;
    this.units = new Units(this.objects, clock);
    const on = (place: ModulePlace) =>
      new Map(declared.filter((module) => module.on.includes(place)).map((module) => [module.name, module]));
    this.#modules = {
      https_edge: on("https_edge"),
      https_route: on("https_route"),
      tls_edge: on("tls_edge"),
      tcp_edge: on("tcp_edge"),
    };
  }

  /** Returns the chain of `owner`'s modules. If a module does not compile, `owner` has a problem and an empty chain. */
  chain(owner: Owner, place: ModulePlace): Chain {
    const { object } = owner;
    owner.problem = undefined;
    try {
      if (this.refused.size > 0 && this.refused.has(markOf(object.id, object.revision))) throw new Error(heldThread);
      return this.units.compile(owner, object, (scope) => compileChain(place, this.#modules[place], object.doc, scope));
    } catch (error) {
      owner.problem = problemOf(object, error instanceof CompileError ? error.module : undefined, error);
      return emptyChain;
    }
  }

  /** Yields the enabled modules of an object, with their configurations. */
  *configurations(doc: ResourceObject["doc"], place: ModulePlace): Iterable<ModuleConfiguration> {
    const declared: ReadonlyMap<string, ModuleDeclaration> | undefined = this.#modules[place];
    for (const name in doc) {
      const [module, config] = [declared?.get(name), doc[name]];
      if (module && isBlock(config) && config["enabled"] !== false) yield [module, config, place];
    }
  }

  /** Assigns the names to `owner`. A name that another edge serves becomes a problem of `owner`. */
  serve(owner: HostOwner, hosts: readonly string[]): void {
    for (const host of hosts) {
      const holder = this.hosts.serve(host, owner);
      if (holder) this.contested(owner, holder, `serve "${host}": ${holder.object.kind} ${holder.object.id} holds it`);
    }
  }

  /** Reports that `holder` already has what `owner` needs, and recompiles `owner` when `holder` changes. */
  contested(owner: Owner, holder: Owner, message: string): void {
    owner.problem ??= problemOf(owner.object, undefined, message);
    this.watch(owner, holder);
  }

  /** Recompiles `owner` when `other` changes. */
  watch(owner: Owner, other: Owner): void {
    this.units.watch(owner, objectKey(other.object.kind, other.object.id));
  }
}

/** @param why a message or a thrown value */
export function problemOf(object: ResourceObject, module: string | undefined, why: unknown): Problem {
  const { id, account_id } = object;
  const kind = configuredKind(object);
  const message = why instanceof Error ? why.message : String(why);
  return Object.freeze({ kind, id, accountId: account_id, module, message });
}

/** Returns `second` itself if `first` is empty. */
export function joinLists<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  return first.length === 0 ? second : Object.freeze([...first, ...second]);
}
