import { markOf } from "../../lib/work-mark.ts";
import { isInternalKey } from "../../lib/internal-names.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { ConnectionSite } from "../sites/compiled-site.ts";
import { isPooled } from "./endpoint-objects.ts";
import { hostportsOf, hostsOf } from "./hosts.ts";
import { portsOf } from "./ports.ts";
import { nothing } from "./units.ts";
import { joinLists } from "./compilation.ts";
import type { Compilation, Compiler, HostOwner } from "./compilation.ts";

const passthrough: Handshake = Object.freeze({ passthrough: true });

interface ConnectionEdgeOwner extends HostOwner {
  site: ConnectionSite | undefined;
}

/** TLS edges, found by host name, and TCP edges, found by port. */
export class ConnectionEdgeCompiler implements Compiler<ConnectionEdgeOwner> {
  readonly kind: "tls_edge" | "tcp_edge";
  readonly owners = new Map<string, ConnectionEdgeOwner>();
  readonly #compilation: Compilation;

  constructor(kind: "tls_edge" | "tcp_edge", compilation: Compilation) {
    this.kind = kind;
    this.#compilation = compilation;
  }

  own(object: ResourceObject): ConnectionEdgeOwner {
    return { object, problem: undefined, dependencies: nothing, kept: nothing, site: undefined };
  }

  compile(owner: ConnectionEdgeOwner): void {
    const { object } = owner;
    const { id, account_id: accountId, revision } = object;
    const chain = this.#compilation.chain(owner, this.kind);
    const hosts = hostsOf(object);
    // If a policy may terminate TLS, the policy decides. After it, TLS is terminated at the latest.
    const isLeft = !chain.handshake.passthrough && chain.connection.some(({ endsTls }) => endsTls === true);
    owner.site = Object.freeze({
      kind: this.kind,
      id,
      accountId,
      revision,
      mark: markOf(id, revision),
      hostports: hostportsOf(object),
      hosts,
      ports: portsOf(object),
      handshake: isLeft ? passthrough : chain.handshake,
      lastHandshake: isLeft ? chain.handshake : undefined,
      problem: owner.problem,
      connection: joinLists(this.#compilation.restrictions.modules(accountId), chain.connection),
      upstream: chain.upstream,
      pooled: isPooled(object),
    });
    this.#compilation.serve(owner, this.#found(hosts));
  }

  withdraw(owner: ConnectionEdgeOwner): void {
    for (const host of this.#found(owner.site?.hosts ?? nothing)) this.#compilation.hosts.withdraw(host, owner);
    owner.site = undefined;
  }

  /** Returns the names by which the edge is found. */
  #found(hosts: readonly string[]): readonly string[] {
    return this.kind === "tls_edge" ? hosts : hosts.filter(isInternalKey);
  }
}
