/**
 * The plug's contract. A module goes through five stages, in this order:
 *
 * 1. declare   `defineModule({ name, on, doc, acts, fields })`: data; API paths, validation and docs are read from it.
 * 2. validate  `fields` one by one, then `rules` across fields, when the API is given a configuration.
 * 3. compile   `compile(config, scope)` when a change reaches an edge: all that configuration decides is
 *              decided here. It may throw: the route then fails closed (500) and the problem is reported.
 * 4. apply     the returned hooks run on traffic, in the order of `modules/index.ts`. They allocate as little
 *              as they can: a `Step` that is known in advance is made in stage 3.
 * 5. release   nothing to do: state asked for with `scope.keep` is dropped once no compiled module asks for it.
 *
 * A disabled module (`enabled: false`) is never compiled.
 */
import type { ServerNames } from "../lib/server-names.ts";
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { Clock } from "../lib/clock.ts";
import type { Steps } from "../lib/slices.ts";
import type { Fields, Issue, StoredOf } from "../schema/fields.ts";
import type { ModulePlace, ResourceObject } from "../schema/object.ts";
import type { LoginGuard } from "./login.ts";
import type { InternalAddress } from "../lib/internal-names.ts";
import type { Signed, WebhookMessage } from "../webhooks/scheme.ts";
import type { Exchange } from "./exchange.ts";
import type { Handshake } from "./handshake.ts";
import type { OpenConnection } from "./open-connection.ts";
import type { Step } from "./step.ts";
import type { UpstreamPlan } from "./upstream-plan.ts";

/** The phases in which a module can act, in order. `connection` belongs to edges that forward whole connections. */
export const phases = ["connection", "handshake", "request", "response"] as const;
export type ModulePhase = (typeof phases)[number];

/** What a module can do. `refuse` ends with an error, `answer` with a response made at the edge. */
export type Power =
  | "refuse"
  | "answer"
  | "change the request"
  | "change the response"
  | "choose the upstream"
  | "set limits";

export interface ModuleDeclaration<F extends Fields = Fields> {
  /** Name on the wire, snake_case; also the path suffix. */
  readonly name: string;
  /** Name of its object in the specification, e.g. `EndpointBackend`. */
  readonly schemaName: string;
  readonly on: readonly ModulePlace[];
  readonly doc: string;
  /**
   * What the module can do in each phase. Empty for a module that cannot be enforced yet, whose configurations are
   * refused.
   */
  readonly acts: Readonly<Partial<Record<ModulePhase, readonly Power[]>>>;
  /** Without `enabled`, which every module has. */
  readonly fields: F;
  /** Constraints across fields, as pure functions that return an issue (`path`, `message`) or undefined. */
  readonly rules?: readonly ((config: StoredOf<F>, place: ModulePlace) => Issue | undefined)[];
  /** Warnings for valid configurations that are probably mistakes. Pure. */
  doubts?(config: StoredOf<F>, place: ModulePlace): readonly Issue[];
  /**
   * For a module with an identity (a key, URLs that others know): creates its read-only and internal fields when the
   * module is set. Later changes preserve them. It is awaited before the write, and the function that it resolves with
   * is called in the write, when the owner's id is known.
   */
  identify?(nowMs: number): Promise<(owner: ModuleOwner) => Partial<StoredOf<F>>>;
  /**
   * The part of `compile` that grows with the configuration, for a thread that carries traffic: undefined when nothing
   * of it is left to do. What the steps return must be held until `compile` was called.
   */
  prepare?(config: StoredOf<F>, place: ModulePlace): Preparation | undefined;
  compile(config: StoredOf<F>, scope: Scope, place: ModulePlace): CompiledModule;
}

export interface Preparation {
  readonly steps: Steps<unknown>;
  /** Characters of configuration that the steps read. */
  readonly length: number;
}

export interface ModuleOwner {
  /** Id of the edge or route. */
  readonly id: string;
  /** The server's own host names. */
  readonly names: ServerNames;
  /** The HTTPS port of public URLs. */
  readonly httpsPort: number;
}

/** Objects that `compile` may read. Everything read is recorded, and a change to it recompiles the owner. */
export interface Look {
  /** Account of the edge. References never leave it. */
  readonly accountId: string;
  /** The stored object, or undefined if this account has none. */
  get(kind: string, id: string): ResourceObject | undefined;
  /** All objects of `kind` owned by `parentId`, such as the rules of a policy. */
  children(kind: string, parentId: string): readonly ResourceObject[];
}

export interface Scope extends Look {
  /** The edge or route with the module, and its revision. */
  readonly ownerId: string;
  /**
   * The site that serves the owner's hosts: the edge, or an agent's account and host, which stay the same across
   * reconnects.
   */
  readonly siteId: string;
  /** Published host of an agent's endpoint, whose id changes with each connection. */
  readonly endpointHost?: string;
  readonly revision: number;
  readonly clock: Clock;
  /**
   * Returns the result of `make`, which is shared by all callers in the account with the same key. It is computed
   * again, and the callers recompiled, when something that it read changes.
   */
  shared<T>(key: string, make: (look: Look) => T): T;
  /** State that survives recompilation: the first caller creates it, later ones get the same. */
  keep<T>(key: string, make: () => T): T;
}

/** The functions that act on traffic. Absent ones cost nothing. */
export interface CompiledModule {
  /** Requirements for the TLS handshake of an edge. */
  readonly handshake?: Handshake;
  /** Decides about a TLS or TCP connection before its bytes are read. */
  connection?(source: string): Step;
  /** Decides about an admitted TLS or TCP connection, with everything known about it. */
  opened?(connection: OpenConnection): OpenedDecision | Promise<OpenedDecision>;
  /** Returns what `opened` would decide now, without side effects. */
  rehearseOpened?(connection: OpenConnection): OpenedDecision | Promise<OpenedDecision>;
  /**
   * `opened` may terminate TLS. The edge leaves that to the module, and terminates TLS afterwards if the module did
   * not.
   */
  readonly endsTls?: boolean;
  /** Decides about a request, or changes it. A step with an `answer` ends the exchange. */
  request?(exchange: Exchange): Step | Promise<Step>;
  /** Returns what `request` would answer now, without side effects. Absent if `request` has none. */
  rehearse?(exchange: Exchange): Step | Promise<Step>;
  /** Destination of the request as data, which the edge executes. */
  readonly upstream?: UpstreamPlan;
  /** Connects an upgraded client to a plain byte stream to the upstream, instead of HTTP. */
  readonly converter?: Converter;
  /** Whether its decisions may depend on the request's path. */
  readonly readsPath?: boolean;
  /** Accepts encoded slashes where routes or rules distinguish paths. */
  readonly allowsEncodedSlashes?: boolean;
  /** Time limit for the response head, instead of the server's setting. */
  readonly responseTimeoutMs?: number | undefined;
  /** Whether requests of one MCP session go to one agent. */
  readonly keepsMcpSessions?: true;
  /** The login guards of this module: itself, or those inside it. */
  readonly logins?: readonly LoginGuard[] | undefined;
  /**
   * What the rules before a nested login decide about the request, without side effects; undefined if they let it reach
   * the login. Absent if no rules precede a login.
   */
  beforeLogin?(login: LoginGuard, exchange: Exchange): Step | undefined | Promise<Step | undefined>;
  /** Set if the module stores requests. A stored request continues with the modules after it. */
  readonly inbox?: StoringModule | undefined;
  /** Signs a webhook that the module has accepted before, so that its receiver accepts it now. */
  signsAnew?(message: WebhookMessage, now: number): Signed | undefined;
  /** Changes the response head, or adds a transformation of the body. A step with an `answer` replaces the response. */
  response?(exchange: Exchange): Step | Promise<Step>;
  /** `response` reads bodies, so the upstream is asked for an uncompressed, complete body. */
  readonly readsResponseBody?: boolean;
  /** `response` never removes, changes or refuses the upstream's own fields. */
  readonly changesBodiesOnly?: true;
  /** Returns what `response` would do, without side effects. Absent if `response` has none. */
  rehearseResponse?(exchange: Exchange): Step | Promise<Step>;
  /**
   * Called once with the outcome at the upstream: its status, or undefined if it could not be reached, sent no
   * response, or `exchange.abandoned` is set.
   */
  settled?(exchange: Exchange, upstreamStatus: number | undefined): void;
}

/** How a module's stored requests continue. */
export interface StoringModule {
  /** Whether requests are signed anew before they are delivered. */
  readonly resigns: boolean;
}

/** The decision about an admitted connection. */
export interface OpenedDecision {
  readonly steps: readonly Step[];
  readonly closes: boolean;
  /** Forwards the connection to this internal endpoint of the account, instead of the site's own upstream. */
  readonly forwardTo?: InternalAddress | undefined;
  /** Log entries for the connection's event. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
}

export interface Converter {
  /** Header fields of the 101 response, which the edge sends once the upstream's stream is open. */
  accept(exchange: Exchange): Readonly<Record<string, string>>;
  /** Takes over both streams until they end. Must not write before it returns. */
  join(client: ByteStream, upstream: ByteStream): void;
}

/** Declares a module. The type parameter ties `compile` to `fields`. */
export function defineModule<const F extends Fields>(declaration: ModuleDeclaration<F>): ModuleDeclaration<F> {
  return declaration;
}
