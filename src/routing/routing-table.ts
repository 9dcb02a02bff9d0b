import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../lib/clock.ts";
import { modules } from "../modules/index.ts";
import type { ModuleDeclaration } from "../traffic/module.ts";
import type { Step } from "../traffic/step.ts";
import type { ModulePlace, ResourceObject } from "../schema/object.ts";
import { Compilation } from "./compile/compilation.ts";
import type { Again, Compiler, Owner } from "./compile/compilation.ts";
import { changesAsEdges, objectsAsEdges } from "./compile/endpoint-objects.ts";
import { ConnectionEdgeCompiler } from "./compile/connection-edge.ts";
import { CredentialCompiler } from "./compile/credential.ts";
import { SshKeyCompiler } from "./compile/ssh-key.ts";
import { HttpsEdgeCompiler } from "./compile/https-edge.ts";
import { RestrictionCompiler } from "./compile/restriction.ts";
import { RouteCompiler } from "./compile/route.ts";
import type {
  CompiledCredential,
  CompiledRoute,
  ConnectionSite,
  Holder,
  PlacedRoute,
  RoutingTable,
  Site,
} from "./sites/compiled-site.ts";
import type { Problem, RoutingChange } from "./planes/messages.ts";
import { childrenKey, objectKey, ownerOf } from "./compile/object-set.ts";
import { Ports } from "./compile/ports.ts";
import { prepareModules } from "./compile/prepare-modules.ts";
import type { ModuleConfiguration } from "./compile/prepare-modules.ts";
import type { Unit } from "./compile/units.ts";
import { docOf } from "../schema/doc.ts";
import type { Doc } from "../schema/doc.ts";
import { account as accounts } from "../resources/account.ts";
import { sshCertificateAuthority } from "../resources/ssh-certificate-authority.ts";
import { sshCredential } from "../resources/ssh-credential.ts";

/** Returns the compiled configuration of the data plane. It is looked up on each request and changed by each write. */
export function makeRoutingTable(
  clock: Clock,
  declared: readonly ModuleDeclaration[] = modules,
  refused: ReadonlySet<number> = new Set(),
): RoutingTable {
  return new Table(clock, declared, refused);
}

type ChangedUnits = Parameters<Parameters<RoutingTable["subscribe"]>[0]>[0];

const none: readonly never[] = [];
/** Preparing the whole configuration counts as work of the server. */
const configurationOwner = "";
const edgeKinds: readonly string[] = ["https_edge", "tls_edge", "tcp_edge"];
const credentialKinds: readonly string[] = ["credential", "ssh_credential", "ssh_certificate_authority"];

class Table implements RoutingTable {
  revision = 0;
  readonly #compilation: Compilation;
  readonly #tcpEdges: ConnectionEdgeCompiler;
  readonly #credentials: CredentialCompiler;
  readonly #sshKeys: SshKeyCompiler;
  readonly #sshAuthorities: SshKeyCompiler;
  readonly #routes: RouteCompiler;
  /**
   * By kind, in the order in which a change is compiled, because routes include the modules of their account and edge.
   */
  readonly #compilers: ReadonlyMap<string, Compiler>;
  readonly #ports = new Ports();
  readonly #listeners: ((changed: ChangedUnits) => void)[] = [];

  constructor(clock: Clock, declared: readonly ModuleDeclaration[], refused: ReadonlySet<number>) {
    const compilation = new Compilation(clock, declared, refused);
    const httpsEdges = new HttpsEdgeCompiler(compilation);
    this.#compilation = compilation;
    this.#tcpEdges = new ConnectionEdgeCompiler("tcp_edge", compilation);
    this.#credentials = new CredentialCompiler(compilation);
    this.#sshKeys = new SshKeyCompiler(sshCredential, compilation);
    this.#sshAuthorities = new SshKeyCompiler(sshCertificateAuthority, compilation);
    this.#routes = new RouteCompiler(compilation, httpsEdges);
    const compilers = [
      new RestrictionCompiler(compilation),
      httpsEdges,
      new ConnectionEdgeCompiler("tls_edge", compilation),
      this.#tcpEdges,
      this.#routes,
      this.#credentials,
      this.#sshKeys,
      this.#sshAuthorities,
    ] as readonly Compiler[];
    this.#compilers = new Map(compilers.map((compiler) => [compiler.kind, compiler]));
  }

  prepare(
    objects: Iterable<ResourceObject>,
    accountId: string = configurationOwner,
  ): Promise<readonly unknown[]> | undefined {
    return prepareModules(accountId, this.#toPrepare(objects));
  }

  load(revision: number, objects: Iterable<ResourceObject>): readonly Problem[] {
    const gone = new Map<string, ResourceObject>();
    for (const object of this.#compilation.objects) gone.set(objectKey(object.kind, object.id), object);
    const changes: RoutingChange[] = [];
    for (const object of objectsAsEdges(objects)) {
      if (gone.size > 0) {
        const key = objectKey(object.kind, object.id);
        const before = gone.get(key);
        gone.delete(key);
        // A database restored from a backup may reuse the same revision numbers.
        if (before?.revision === object.revision && isDeepStrictEqual(before, object)) continue;
      }
      changes.push({ kind: object.kind, id: object.id, account_id: object.account_id, object });
    }
    for (const { kind, id, account_id } of gone.values()) changes.push({ kind, id, account_id, object: null });
    this.change(revision, changes);
    const problems: Problem[] = [];
    for (const { owners } of this.#compilers.values()) {
      for (const { problem } of owners.values()) if (problem) problems.push(problem);
    }
    return problems;
  }

  change(revision: number, changes: readonly RoutingChange[]): readonly Problem[] {
    this.revision = revision;
    const stale = new Set<Unit>();
    for (const change of changesAsEdges(changes)) this.#take(change, stale);
    for (const unit of stale) {
      const owner = unit as Owner;
      this.#compilers.get(owner.object.kind)?.withdraw(owner);
    }
    const problems = this.#compile(stale);
    const siteIds = new Set<string>();
    const credentialIds = new Set<string>();
    for (const unit of stale) {
      const { kind, id } = (unit as Owner).object;
      if (edgeKinds.includes(kind)) siteIds.add(id);
      else if (credentialKinds.includes(kind)) credentialIds.add(id);
    }
    const kinds = new Set(changes.map(({ kind }) => kind));
    for (const listener of this.#listeners) listener({ siteIds, credentialIds, kinds });
    return problems;
  }

  refuses(mark: number): boolean {
    return this.#compilation.refused.has(mark);
  }

  serving(host: string): Site | ConnectionSite | undefined {
    return this.#compilation.hosts.serving(host)?.site;
  }

  placeOfRoute(id: string): PlacedRoute | undefined {
    return this.#routes.placed(id);
  }

  draftedRoute(id: string, fields: Doc): CompiledRoute | undefined {
    return this.#routes.drafted(id, fields);
  }

  named(name: string): Site | ConnectionSite | undefined {
    return this.#compilation.hosts.named(name)?.site;
  }

  pool(name: string): readonly (Site | ConnectionSite)[] {
    const holders = this.#compilation.hosts.pool(name);
    return holders.length === 0 ? none : holders.flatMap(({ site }) => (site ? [site] : []));
  }

  hostHolder(host: string): Holder | undefined {
    return holderOf(this.#compilation.hosts.holder(host));
  }

  portHolder(port: number): Holder | undefined {
    return holderOf(this.#ports.holder(port));
  }

  tcpSite(id: string): ConnectionSite | undefined {
    return this.#tcpEdges.owners.get(id)?.site;
  }

  *tcpSites(): Iterable<ConnectionSite> {
    for (const { site } of this.#tcpEdges.owners.values()) if (site) yield site;
  }

  credential(fingerprint: string): CompiledCredential | undefined {
    return this.#credentials.find(fingerprint);
  }

  sshKey(fingerprint: string, isAuthority: boolean): CompiledCredential | undefined {
    return (isAuthority ? this.#sshAuthorities : this.#sshKeys).find(fingerprint);
  }

  accountName(accountId: string): string {
    const account = this.object(accounts.name, accountId);
    return account ? docOf(account, accounts).name : "";
  }

  restriction(accountId: string, part: "agent" | "endpoints"): ((source: string) => Step) | undefined {
    return this.#compilation.restrictions.admits(accountId, part);
  }

  secret(accountId: string, vault: string, name: string): string | undefined {
    return this.#compilation.secrets.find(accountId, vault, name);
  }

  object(kind: string, id: string): ResourceObject | undefined {
    return this.#compilation.objects.get(kind, id);
  }

  children(kind: string, ownerId: string, accountId: string): readonly ResourceObject[] {
    return this.#compilation.objects.children(kind, ownerId, accountId);
  }

  subscribe(listener: (changed: ChangedUnits) => void): void {
    this.#listeners.push(listener);
  }

  *#toPrepare(objects: Iterable<ResourceObject>): Iterable<ModuleConfiguration> {
    for (const object of objectsAsEdges(objects)) {
      const { kind, id, revision, doc } = object;
      const place = kind === "https_edge_route" ? "https_route" : (kind as ModulePlace);
      if (this.object(kind, id)?.revision === revision) continue;
      yield* this.#compilation.configurations(doc, place);
    }
  }

  /** Applies one change, and collects the units to recompile. */
  #take({ kind, id, object }: RoutingChange, stale: Set<Unit>): void {
    const { objects, units, hosts, secrets } = this.#compilation;
    const before = objects.get(kind, id);
    if (object) objects.put(object, before);
    else if (before) objects.delete(before);
    if (kind === "reserved_domain") hosts.reserve(before, object);
    else if (kind === "reserved_addr") this.#ports.reserve(before, object);
    else if (kind === "tcp_edge") this.#ports.serve(before, object);
    else secrets.take(before, object);
    const compiler = this.#compilers.get(kind);
    if (compiler) replaceObject(compiler, id, object, stale);
    if (units.isEmpty) return;
    units.stale(objectKey(kind, id), stale);
    for (const version of [before, object]) {
      const owner = version ? ownerOf(version) : undefined;
      if (owner !== undefined) units.stale(childrenKey(kind, owner), stale);
    }
  }

  /** Returns new and cleared problems. */
  #compile(stale: Set<Unit>): Problem[] {
    const again = this.#again(stale);
    const problems: Problem[] = [];
    // Cleared problems come first, because the same object may have a new problem of another kind.
    const cleared: Problem[] = [];
    for (const [kind, compiler] of this.#compilers) {
      for (const unit of stale) {
        const owner = unit as Owner;
        if (owner.object.kind !== kind) continue;
        const before = owner.problem;
        if (compiler.owners.get(owner.object.id) === owner) {
          compiler.compile(owner, again);
        } else {
          this.#compilation.units.release(owner);
          owner.problem = undefined;
          compiler.forget?.(owner, again);
        }
        const { problem } = owner;
        if (problem && (problem.message !== before?.message || problem.module !== before?.module))
          problems.push(problem);
        else if (before && !problem) cleared.push({ ...before, message: undefined });
      }
    }
    return [...cleared, ...problems];
  }

  #again(stale: Set<Unit>): Again {
    const add = (compiler: Compiler, owner: Owner): void => {
      if (stale.has(owner)) return;
      compiler.withdraw(owner);
      stale.add(owner);
    };
    return {
      one: (kind, id) => {
        const compiler = this.#compilers.get(kind);
        const owner = compiler?.owners.get(id);
        if (compiler && owner) add(compiler, owner);
      },
      all: (kinds, accountId) => {
        for (const kind of kinds) {
          const compiler = this.#compilers.get(kind);
          for (const owner of compiler?.owners.values() ?? []) {
            if (compiler && owner.object.account_id === accountId) add(compiler, owner);
          }
        }
      },
    };
  }
}

function replaceObject(compiler: Compiler, id: string, object: ResourceObject | null, stale: Set<Unit>): void {
  let owner = compiler.owners.get(id);
  if (owner) {
    stale.add(owner);
    // Do this before the owner gets its new edge and match.
    compiler.withdraw(owner);
  }
  if (!object) {
    compiler.owners.delete(id);
  } else if (owner) {
    owner.object = object;
  } else {
    owner = compiler.own(object);
    compiler.owners.set(id, owner);
    stale.add(owner);
  }
}

function holderOf(object: ResourceObject | undefined): Holder | undefined {
  return object && { kind: object.kind, id: object.id, accountId: object.account_id };
}
