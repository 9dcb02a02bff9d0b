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
import type { Fields, Issue, StoredOf } from "../schema/fields.ts";
import type { Place, ResourceObject } from "../schema/object.ts";
import type { LoginGuard } from "./login.ts";
import type { InternalAddress } from "../lib/internal-names.ts";
import type { Exchange } from "./exchange.ts";
import type { Handshake } from "./handshake.ts";
import type { OpenConnection } from "./open-connection.ts";
import type { Step } from "./step.ts";
import type { UpstreamPlan } from "./upstream-plan.ts";

/** When a module can act, in this order: `connection` is of edges that pass connections on whole. */
export const phases = ["connection", "handshake", "request", "response"] as const;
export type Phase = (typeof phases)[number];

/** What a module may do. `refuse` ends with an error, `answer` with a response of the edge's own. */
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
  readonly on: readonly Place[];
  readonly doc: string;
  /** What it may do when; empty for one that cannot be enforced yet: all that has it is refused. */
  readonly acts: Readonly<Partial<Record<Phase, readonly Power[]>>>;
  /** `enabled` is added to every module and is not listed here. */
  readonly fields: F;
  /** What must hold between fields: pure; each returns an issue (`path`, `message`) or undefined. */
  readonly rules?: readonly ((config: StoredOf<F>, place: Place) => Issue | undefined)[];
  /** What is allowed in a configuration, and probably not meant: pure. */
  doubts?(config: StoredOf<F>, place: Place): readonly Issue[];
  /**
   * For a module with an identity of its own (a key, URLs that others are told of): makes its read-only and
   * internal fields when it is set, and later changes keep them. Awaited before the write that sets it; the
   * function that it resolves with is called in that write, when the owner's id is known.
   */
  identify?(nowMs: number): Promise<(owner: ModuleOwner) => Partial<StoredOf<F>>>;
  compile(config: StoredOf<F>, scope: Scope, place: Place): CompiledModule;
}

export interface ModuleOwner {
  /** Id of the edge or route. */
  readonly id: string;
  /** The server's own host names. */
  readonly names: ServerNames;
  /** The port of HTTPS in public URLs. */
  readonly httpsPort: number;
}

/** What `compile` may look at. Everything asked for is remembered: a change of it compiles the owner again. */
export interface Look {
  /** The account of the edge; references never leave it. */
  readonly accountId: string;
  /** The stored object, or undefined when it does not exist in this account. */
  get(kind: string, id: string): ResourceObject | undefined;
  /** All objects of `kind` owned by `parentId`, such as the rules of a policy. */
  children(kind: string, parentId: string): readonly ResourceObject[];
}

export interface Scope extends Look {
  /** The edge or route that the module is attached to, and the revision that it has. */
  readonly ownerId: string;
  /** What serves the owner's hosts: the edge, or an agent's account and host, which are the same when it comes back. */
  readonly siteId: string;
  /** Where it is published, if the owner is an agent's endpoint, which has another id when it comes back. */
  readonly endpointHost?: string;
  readonly revision: number;
  readonly clock: Clock;
  /**
   * What `make` computes from configuration, once for all in the account who ask by the same key; computed
   * again, and they compiled again, when something that it looked at changes.
   */
  shared<T>(key: string, make: (look: Look) => T): T;
  /** State that must survive recompiling: the first caller makes it, later ones get the same. */
  keep<T>(key: string, make: () => T): T;
}

/** The functions that act on traffic. Absent ones cost nothing. */
export interface CompiledModule {
  /** What the TLS handshake of an edge demands. */
  readonly handshake?: Handshake;
  /** Decides over a TLS or TCP connection before any of its bytes are read. */
  connection?(source: string): Step;
  /** Decides over a TLS or TCP connection that was let in, with everything that is known of it. */
  opened?(connection: OpenConnection): OpenedDecision | Promise<OpenedDecision>;
  /** What `opened` would decide now, without its side effects. */
  rehearseOpened?(connection: OpenConnection): OpenedDecision | Promise<OpenedDecision>;
  /** `opened` may end TLS: the edge leaves that to it, and does it afterwards where it has not. */
  readonly endsTls?: boolean;
  /** Decides over, or changes, a request. A step with an `answer` ends the exchange. */
  request?(exchange: Exchange): Step | Promise<Step>;
  /** What `request` would answer now, without its side effects; absent when it has none. */
  rehearse?(exchange: Exchange): Step | Promise<Step>;
  /** Where the request goes, as data; the edge carries it out. */
  readonly upstream?: UpstreamPlan;
  /** Stands between an upgraded client and a plain byte stream to the upstream, instead of HTTP. */
  readonly converter?: Converter;
  /** What it decides by may depend on the request's path. */
  readonly readsPath?: boolean;
  /** Takes encoded slashes where routes or rules tell paths apart. */
  readonly allowsEncodedSlashes?: boolean;
  /** How long a request may wait for the response head, instead of the server's setting. */
  readonly responseTimeoutMs?: number | undefined;
  /** What of it lets in who has logged in: itself, or what is inside it. */
  readonly logins?: readonly LoginGuard[] | undefined;
  /**
   * What comes before a login inside it says of the request, without side effects; undefined where that lets it come
   * to the login. Absent where nothing comes before one.
   */
  beforeLogin?(login: LoginGuard, exchange: Exchange): Step | undefined | Promise<Step | undefined>;
  /** Changes the response head, or sets a transform of its body. A step with an `answer` takes its place. */
  response?(exchange: Exchange): Step | Promise<Step>;
  /** `response` reads bodies: the upstream is asked for a whole body that is not compressed. */
  readonly readsResponseBody?: boolean;
  /** `response` never removes, changes or refuses what the upstream says in fields of its own. */
  readonly changesBodiesOnly?: true;
  /** What `response` would do, without its side effects; absent when it has none. */
  rehearseResponse?(exchange: Exchange): Step | Promise<Step>;
  /**
   * Told once how the upstream did: its status, or undefined when it could not be reached or sent no response,
   * and when `exchange.abandoned`.
   */
  settled?(exchange: Exchange, upstreamStatus: number | undefined): void;
}

/** What was decided over a connection that was let in. */
export interface OpenedDecision {
  readonly steps: readonly Step[];
  readonly closes: boolean;
  /** It goes to this internal endpoint of the account, instead of to the site's own upstream. */
  readonly forwardTo?: InternalAddress | undefined;
  /** What its event tells of it. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
}

export interface Converter {
  /** Header fields of the 101 that the edge answers once the upstream's stream is open. */
  accept(exchange: Exchange): Readonly<Record<string, string>>;
  /** Takes over both streams, from their receivers to their end. Writes nothing before it returns. */
  join(client: ByteStream, upstream: ByteStream): void;
}

/** Declares a module; the type parameter ties `compile` to `fields`. */
export function defineModule<const F extends Fields>(declaration: ModuleDeclaration<F>): ModuleDeclaration<F> {
  return declaration;
}
