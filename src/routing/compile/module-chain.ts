import type { Handshake } from "../../traffic/handshake.ts";
import type { CompiledModule, Converter, ModuleDeclaration, Scope } from "../../traffic/module.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { ModulePlace } from "../../schema/object.ts";

/** The compiled modules of one edge or route, as lists of those with each hook. */
export interface Chain {
  readonly handshake: Handshake;
  readonly connection: readonly CompiledModule[];
  readonly request: readonly CompiledModule[];
  readonly response: readonly CompiledModule[];
  readonly settled: readonly CompiledModule[];
  readonly upstream: UpstreamPlan | undefined;
  readonly converter: Converter | undefined;
  readonly allowsEncodedSlashes: boolean;
  readonly responseTimeoutMs: number | undefined;
}

const none: readonly CompiledModule[] = Object.freeze([]);
const noHandshake: Handshake = Object.freeze({});

export const emptyChain: Chain = Object.freeze({
  handshake: noHandshake,
  connection: none,
  request: none,
  response: none,
  settled: none,
  upstream: undefined,
  converter: undefined,
  allowsEncodedSlashes: false,
  responseTimeoutMs: undefined,
});

/** Why an edge or route cannot be applied. None of it may run. */
export class CompileError extends Error {
  readonly module: string | undefined;

  constructor(module: string | undefined, message: string, cause?: unknown) {
    super(message, { cause });
    this.module = module;
  }
}

/**
 * Compiles the enabled modules of `doc`, in the order of `declared`. Throws `CompileError`, also for an unknown module,
 * because skipping it would allow requests that it should deny (control R6).
 */
export function compileChain(
  place: ModulePlace,
  declared: ReadonlyMap<string, ModuleDeclaration>,
  doc: Readonly<Record<string, unknown>>,
  scope: Scope,
): Chain {
  let handshake = noHandshake;
  let upstream: UpstreamPlan | undefined;
  let converter: Converter | undefined;
  let allowsEncodedSlashes = false;
  let responseTimeoutMs: number | undefined;
  const connection: CompiledModule[] = [];
  const request: CompiledModule[] = [];
  const response: CompiledModule[] = [];
  const settled: CompiledModule[] = [];
  for (const name in doc) {
    const config = doc[name];
    if (notModules.has(name)) continue;
    if (isBlock(config) && "enabled" in config && config["enabled"] !== false && !declared.has(name)) {
      throw new CompileError(name, `compile ${name}: this server has no such module for ${place}`);
    }
  }
  let isEmpty = true;
  for (const module of declared.values()) {
    const config = doc[module.name];
    if (!isBlock(config) || config["enabled"] === false) continue;
    isEmpty = false;
    let compiled: CompiledModule;
    try {
      compiled = module.compile(config as Parameters<typeof module.compile>[0], scope, place);
    } catch (error) {
      throw new CompileError(module.name, error instanceof Error ? error.message : String(error), error);
    }
    if (compiled.handshake) handshake = { ...handshake, ...compiled.handshake };
    if (compiled.connection || compiled.opened) connection.push(compiled);
    if (compiled.request) request.push(compiled);
    if (compiled.response) response.push(compiled);
    if (compiled.settled) settled.push(compiled);
    upstream = compiled.upstream ?? upstream;
    converter = compiled.converter ?? converter;
    allowsEncodedSlashes ||= compiled.allowsEncodedSlashes === true;
    responseTimeoutMs = compiled.responseTimeoutMs ?? responseTimeoutMs;
  }
  if (isEmpty) return emptyChain;
  if (handshake.passthrough && (place === "https_edge" || handshake.clientAuthorities)) {
    throw new CompileError(
      "tls_termination",
      `pass TLS through: ${place === "https_edge" ? "an HTTPS edge" : "mutual TLS"} needs TLS termination at the edge`,
    );
  }
  if (connection.some(({ endsTls }) => endsTls === true) && (handshake.clientAuthorities || handshake.minVersion)) {
    throw new CompileError(
      "traffic_policy",
      "end TLS by a rule: mutual_tls, or min_version of tls_termination, needs an earlier handshake",
    );
  }
  return {
    handshake,
    connection: trimList(connection),
    request: trimList(request),
    response: trimList(response),
    settled: trimList(settled),
    upstream,
    converter,
    allowsEncodedSlashes,
    responseTimeoutMs,
  };
}

/** Fields with `enabled` that are not modules. */
const notModules: ReadonlySet<string> = new Set(["capture"]);

export function isBlock(config: unknown): config is Readonly<Record<string, unknown>> {
  return typeof config === "object" && config !== null && !Array.isArray(config);
}

/** Shares one empty list and trims the others, because there are many. */
function trimList(modules: readonly CompiledModule[]): readonly CompiledModule[] {
  return modules.length === 0 ? none : Object.freeze(modules.slice());
}
