import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../lib/clock.ts";
import { modules } from "../modules/index.ts";
import type { ModuleDeclaration } from "../modules/module.ts";
import { passed } from "../modules/step.ts";
import type { Step } from "../modules/step.ts";
import type { Place, ResourceObject } from "../schema/object.ts";
import { AccountRestrictions, admitsNobody, compileRestriction } from "./account-restrictions.ts";
import { CompileError, compileChain, emptyChain } from "./chain.ts";
import type { Chain } from "./chain.ts";
import type { CompiledCredential, CompiledRoute, ConnectionSite, RoutingTable, Site } from "./compiled.ts";
import { Hosts } from "./hosts.ts";
import type { Problem, RoutingChange } from "./messages.ts";
import { childrenKey, objectKey, ObjectSet, ownerOf } from "./object-set.ts";
import { Ports, portsOf } from "./ports.ts";
import { RouteIndex } from "./route-index.ts";
import { nothing, Units } from "./units.ts";
import type { Unit } from "./units.ts";

/** The data plane's configuration, compiled: looked up on each request, changed write by write. */
export function makeRoutingTable(clock: Clock, declared: readonly ModuleDeclaration[] = modules): RoutingTable {
  return new Table(clock, declared);
}

/** An object that is compiled, and what it is compiled to. */
interface Owner extends Unit {
  object: ResourceObject;
  problem: Problem | undefined;
  /** Set while it is in effect. */
  site?: Site | ConnectionSite | undefined;
  route?: CompiledRoute | undefined;
  credential?: CompiledCredential | undefined;
  chain?: Chain | undefined;
  /** Of an HTTPS edge: its routes, as long as it exists. */
  routes?: RouteIndex | undefined;
}

type Changed = Parameters<Parameters<RoutingTable["subscribe"]>[0]>[0];

const edgeKinds = ["https_edge", "tls_edge", "tcp_edge"] as const;
const routeKind = "https_edge_route";
const restrictionKind = "ip_restriction";
/** What is compiled, in this order: routes take over what the account and their edge demand. */
const compiledKinds = [restrictionKind, ...edgeKinds, routeKind, "credential"];

class Table implements RoutingTable {
  revision = 0;
  readonly #modules: Readonly<Record<Place, ReadonlyMap<string, ModuleDeclaration>>>;
  readonly #objects = new ObjectSet();
  readonly #units: Units;
  readonly #owners = new Map<string, Map<string, Owner>>(compiledKinds.map((kind) => [kind, new Map()]));
  readonly #hosts = new Hosts<Owner>();
  readonly #ports = new Ports();
  readonly #credentials = new Map<string, CompiledCredential>();
  readonly #restrictions = new AccountRestrictions();
  readonly #listeners: ((changed: Changed) => void)[] = [];

  constructor(clock: Clock, declared: readonly ModuleDeclaration[]) {
    this.#units = new Units(this.#objects, clock);
    const on = (place: Place) =>
      new Map(declared.filter((module) => module.on.includes(place)).map((module) => [module.name, module]));
    this.#modules = {
      https_edge: on("https_edge"),
      https_route: on("https_route"),
      tls_edge: on("tls_edge"),
      tcp_edge: on("tcp_edge"),
    };
  }

  load(revision: number, objects: Iterable<ResourceObject>): readonly Problem[] {
    const gone = new Map<string, ResourceObject>();
    for (const object of this.#objects) gone.set(objectKey(object.kind, object.id), object);
    const changes: RoutingChange[] = [];
    for (const object of objects) {
      if (gone.size > 0) {
        const key = objectKey(object.kind, object.id);
        const before = gone.get(key);
        gone.delete(key);
        // A database restored from a backup counts the same revisions again.
        if (before?.revision === object.revision && isDeepStrictEqual(before, object)) continue;
      }
      changes.push({ kind: object.kind, id: object.id, account_id: object.account_id, object });
    }
    for (const { kind, id, account_id } of gone.values()) changes.push({ kind, id, account_id, object: null });
    this.change(revision, changes);
    const problems: Problem[] = [];
    for (const owners of this.#owners.values()) {
      for (const { problem } of owners.values()) if (problem) problems.push(problem);
    }
    return problems;
  }

  change(revision: number, changes: readonly RoutingChange[]): readonly Problem[] {
    this.revision = revision;
    const stale = new Set<Unit>();
    const problems: Problem[] = [];
    const siteIds = new Set<string>();
    const credentialIds = new Set<string>();
    const kinds = new Set<string>();
    for (const { kind, id, object } of changes) {
      kinds.add(kind);
      const before = this.#objects.get(kind, id);
      if (object) this.#objects.put(object, before);
      else if (before) this.#objects.delete(before);
      if (kind === "reserved_domain") this.#hosts.reserve(before, object);
      else if (kind === "reserved_addr") this.#ports.reserve(before, object);
      else if (kind === "tcp_edge") this.#ports.serve(before, object);
      const owners = this.#owners.get(kind);
      if (owners) this.#ownChange(owners, id, object, stale);
      if (this.#units.isEmpty) continue;
      this.#units.stale(objectKey(kind, id), stale);
      for (const version of [before, object]) {
        const owner = version ? ownerOf(version) : undefined;
        if (owner !== undefined) this.#units.stale(childrenKey(kind, owner), stale);
      }
    }
    for (const unit of stale) this.#withdraw(unit as Owner);
    for (const kind of compiledKinds) {
      for (const unit of stale) {
        const owner = unit as Owner;
        if (owner.object.kind !== kind) continue;
        const before = owner.problem;
        if (this.#owners.get(kind)?.get(owner.object.id) === owner) this.#compile(owner, stale);
        else this.#forget(owner, stale);
        const problem = owner.problem;
        if (problem && (problem.message !== before?.message || problem.module !== before?.module))
          problems.push(problem);
        else if (before && !problem) problems.push({ ...before, message: undefined });
      }
    }
    for (const unit of stale) {
      const owner = unit as Owner;
      if (isEdge(owner)) siteIds.add(owner.object.id);
      else if (owner.object.kind === "credential") credentialIds.add(owner.object.id);
    }
    for (const listener of this.#listeners) listener({ siteIds, credentialIds, kinds });
    return problems;
  }

  httpsSite(host: string): Site | undefined {
    const site = this.#hosts.serving(host)?.site;
    return site?.kind === "https_edge" ? site : undefined;
  }

  tlsSite(host: string): ConnectionSite | undefined {
    const site = this.#hosts.serving(host)?.site;
    return site?.kind === "tls_edge" ? site : undefined;
  }

  hostHolder(host: string): { readonly kind: string; readonly id: string; readonly accountId: string } | undefined {
    const found = this.#hosts.holder(host);
    return found && { kind: found.kind, id: found.id, accountId: found.account_id };
  }

  portHolder(port: number): { readonly kind: string; readonly id: string; readonly accountId: string } | undefined {
    const found = this.#ports.holder(port);
    return found && { kind: found.kind, id: found.id, accountId: found.account_id };
  }

  tcpSite(id: string): ConnectionSite | undefined {
    const site = this.#owners.get("tcp_edge")?.get(id)?.site;
    return site?.kind === "tcp_edge" ? site : undefined;
  }

  *tcpSites(): Iterable<ConnectionSite> {
    for (const { site } of this.#owners.get("tcp_edge")?.values() ?? []) if (site?.kind === "tcp_edge") yield site;
  }

  credential(fingerprint: string): CompiledCredential | undefined {
    return this.#credentials.get(fingerprint);
  }

  accountName(accountId: string): string {
    const name = this.#objects.get("account", accountId)?.doc["name"];
    return typeof name === "string" ? name : "";
  }

  restriction(accountId: string, part: "agent" | "endpoints"): ((source: string) => Step) | undefined {
    return this.#restrictions.admits(accountId, part);
  }

  object(kind: string, id: string): ResourceObject | undefined {
    return this.#objects.get(kind, id);
  }

  children(kind: string, ownerId: string, accountId: string): readonly ResourceObject[] {
    return this.#objects.children(kind, ownerId, accountId);
  }

  subscribe(listener: (changed: Changed) => void): void {
    this.#listeners.push(listener);
  }

  #ownChange(owners: Map<string, Owner>, id: string, object: ResourceObject | null, stale: Set<Unit>): void {
    let owner = owners.get(id);
    if (owner) {
      stale.add(owner);
      // While it is still known under its old edge and match.
      this.#withdraw(owner);
    }
    if (!object) {
      owners.delete(id);
    } else if (owner) {
      owner.object = object;
    } else {
      owner = { object, dependencies: nothing, kept: nothing, problem: undefined };
      owners.set(id, owner);
      stale.add(owner);
    }
  }

  #forget(owner: Owner, stale: Set<Unit>): void {
    this.#units.release(owner);
    owner.problem = undefined;
    if (owner.object.kind === restrictionKind) this.#restrict(owner, undefined, stale);
  }

  /** Takes out of the look-ups what `owner` was compiled to. */
  #withdraw(owner: Owner): void {
    const { object, site, route, credential } = owner;
    if (site && site.kind !== "tcp_edge") for (const host of hostsOf(object)) this.#hosts.withdraw(host, owner);
    if (route) this.#detach(object, route);
    if (credential) this.#credentials.delete(String(object.doc["fingerprint"]));
    owner.site = undefined;
    owner.route = undefined;
    owner.credential = undefined;
  }

  #compile(owner: Owner, stale: Set<Unit>): void {
    const { object } = owner;
    if (object.kind === "credential") this.#compileCredential(owner);
    else if (object.kind === restrictionKind) this.#compileRestriction(owner, stale);
    else if (object.kind === routeKind) this.#compileRoute(owner);
    else this.#compileEdge(owner, stale);
  }

  #compileRestriction(owner: Owner, stale: Set<Unit>): void {
    const { object } = owner;
    owner.problem = undefined;
    try {
      this.#restrict(
        owner,
        this.#units.compile(owner, object, (scope) => compileRestriction(object, scope)),
        stale,
      );
    } catch (error) {
      owner.problem = problemOf(object, undefined, messageOf(error));
      this.#restrict(owner, admitsNobody, stale);
    }
  }

  /** Puts an account's restriction into effect, or lifts it. */
  #restrict({ object }: Owner, admits: ((source: string) => Step) | undefined, stale: Set<Unit>): void {
    if (!this.#restrictions.set(object, admits) || object.doc["type"] !== "endpoints") return;
    for (const kind of ["tls_edge", "tcp_edge", routeKind]) {
      for (const owner of this.#owners.get(kind)?.values() ?? []) {
        if (owner.object.account_id === object.account_id) this.#makeStale(owner, stale);
      }
    }
  }

  #makeStale(owner: Owner, stale: Set<Unit>): void {
    if (stale.has(owner)) return;
    this.#withdraw(owner);
    stale.add(owner);
  }

  #compileEdge(owner: Owner, stale: Set<Unit>): void {
    const { object } = owner;
    const before = owner.chain ?? emptyChain;
    const chain = this.#compileModules(owner);
    const { id, account_id: accountId, revision } = object;
    const common = { id, accountId, revision, handshake: chain.handshake, problem: owner.problem };
    if (object.kind === "https_edge") {
      const hosts = hostsOf(object);
      const isNew = owner.routes === undefined;
      const index = (owner.routes ??= new RouteIndex());
      owner.site = Object.freeze({
        ...common,
        kind: "https_edge" as const,
        hosts,
        findRoute: (path: string) => index.find(path),
      });
      owner.chain = chain;
      if (isNew || actsOnRequests(before) || actsOnRequests(chain)) {
        for (const route of this.#objects.children(routeKind, id, accountId)) {
          const routeOwner = this.#owners.get(routeKind)?.get(route.id);
          if (routeOwner) this.#makeStale(routeOwner, stale);
        }
      }
    } else {
      owner.site = Object.freeze({
        ...common,
        kind: object.kind as "tls_edge" | "tcp_edge",
        hostports: hostportsOf(object),
        hosts: hostsOf(object),
        ports: portsOf(object),
        connection: joined(this.#restrictions.modules(accountId), chain.connection),
        upstream: chain.upstream,
      });
    }
    if (object.kind === "tcp_edge") return;
    for (const host of hostsOf(object)) {
      const holder = this.#hosts.serve(host, owner);
      if (!holder) continue;
      this.#contested(owner, holder, `serve "${host}": ${holder.object.kind} ${holder.object.id} holds it`);
    }
  }

  #compileRoute(owner: Owner): void {
    const { object } = owner;
    const { id, revision, account_id: accountId, doc } = object;
    const chain = this.#compileModules(owner);
    const { problem } = owner;
    const edge = this.#edgeOf(object);
    // Without its edge it answers nothing, and is compiled again when that comes.
    if (!edge?.routes) return;
    const above = edge.chain ?? emptyChain;
    const type = String(doc["match_type"]);
    const match = String(doc["match"]);
    const route: CompiledRoute = Object.freeze({
      id,
      revision,
      matched: passed("router", `matched ${type} "${match}"`, { kind: routeKind, id, revision }),
      problem,
      request: joined(this.#restrictions.modules(accountId), joined(above.request, chain.request)),
      response: joined(above.response, chain.response),
      settled: joined(above.settled, chain.settled),
      upstream: chain.upstream,
      converter: chain.converter,
    });
    const holder = edge.routes.put(type, match, route);
    if (!holder) {
      owner.route = route;
      return;
    }
    const other = this.#owners.get(routeKind)?.get(holder.id);
    if (other) this.#contested(owner, other, `match ${type} "${match}": route ${holder.id} of the edge has it`);
  }

  #detach(object: ResourceObject, route: CompiledRoute): void {
    const { doc } = object;
    this.#edgeOf(object)?.routes?.remove(String(doc["match_type"]), String(doc["match"]), route);
  }

  /** The edge of a route, if it is of the same account. */
  #edgeOf({ account_id, doc }: ResourceObject): Owner | undefined {
    const edge = this.#owners.get("https_edge")?.get(String(doc["edge_id"]));
    return edge?.object.account_id === account_id ? edge : undefined;
  }

  #compileCredential(owner: Owner): void {
    const { id, account_id: accountId, doc } = owner.object;
    const ownerId = typeof doc["owner_id"] === "string" ? doc["owner_id"] : "";
    owner.credential = Object.freeze({
      id,
      accountId,
      tokenHash: Buffer.from(String(doc["token_hash"]), "hex"),
      acl: Array.isArray(doc["acl"]) ? (doc["acl"] as string[]) : nothing,
      active: this.#units.compile(
        owner,
        owner.object,
        (scope) => ownerId === "" || scope.get("bot_user", ownerId)?.doc["active"] === true,
      ),
    });
    this.#credentials.set(String(doc["fingerprint"]), owner.credential);
  }

  /** The chain of `owner`'s modules. When one does not compile, `owner` has a problem and an empty chain. */
  #compileModules(owner: Owner): Chain {
    const { object } = owner;
    const place = object.kind === routeKind ? "https_route" : (object.kind as Place);
    owner.problem = undefined;
    try {
      return this.#units.compile(owner, object, (scope) =>
        compileChain(place, this.#modules[place], object.doc, scope),
      );
    } catch (error) {
      owner.problem = problemOf(object, error instanceof CompileError ? error.module : undefined, messageOf(error));
      return emptyChain;
    }
  }

  /** Reports that `owner` cannot have what `holder` has, and tries again when `holder` changes. */
  #contested(owner: Owner, holder: Owner, message: string): void {
    owner.problem ??= problemOf(owner.object, undefined, message);
    this.#units.watch(owner, objectKey(holder.object.kind, holder.object.id));
  }
}

function isEdge({ object }: Owner): boolean {
  return (edgeKinds as readonly string[]).includes(object.kind);
}

function actsOnRequests({ request, response, settled }: Chain): boolean {
  return request.length + response.length + settled.length > 0;
}

function joined<T>(first: readonly T[], second: readonly T[]): readonly T[] {
  return first.length === 0 ? second : Object.freeze([...first, ...second]);
}

function problemOf({ kind, id, account_id }: ResourceObject, module: string | undefined, message: string): Problem {
  return Object.freeze({ kind, id, accountId: account_id, module, message });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hostportsOf({ doc }: ResourceObject): readonly string[] {
  return Array.isArray(doc["hostports"]) ? (doc["hostports"] as string[]) : nothing;
}

/** Host names of the hostports, lower case, each once. */
function hostsOf(object: ResourceObject): readonly string[] {
  const hostports = hostportsOf(object);
  if (hostports.length === 1) return [hostOf(hostports[0] as string)];
  return [...new Set(hostports.map(hostOf))];
}

function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
}
