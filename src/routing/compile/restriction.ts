import { compileAdmission } from "../../modules/ip-restriction.ts";
import type { Scope } from "../../traffic/module.ts";
import { denyStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Admits } from "./account-restrictions.ts";
import { nothing } from "./units.ts";
import { problemOf } from "./compilation.ts";
import type { Again, Compilation, Compiler, Owner } from "./compilation.ts";
import { docOf } from "../../schema/doc.ts";
import { ipRestriction } from "../../resources/ip-restriction.ts";

/** Kinds that enforce the account's restriction of its endpoints. */
const restrictedKinds = ["tls_edge", "tcp_edge", "https_edge_route"];

/** Compiles the addresses from which the parts of an account may be used. */
export class RestrictionCompiler implements Compiler {
  readonly kind = ipRestriction.name;
  readonly owners = new Map<string, Owner>();
  readonly #compilation: Compilation;

  constructor(compilation: Compilation) {
    this.#compilation = compilation;
  }

  own(object: ResourceObject): Owner {
    return { object, problem: undefined, dependencies: nothing, kept: nothing };
  }

  compile(owner: Owner, again: Again): void {
    const { object } = owner;
    owner.problem = undefined;
    let admits: Admits | undefined = admitsNobody;
    try {
      admits = this.#compilation.units.compile(owner, object, (scope) => admissionOf(object, scope));
    } catch (error) {
      owner.problem = problemOf(object, undefined, error);
    }
    this.#restrict(object, admits, again);
  }

  /** Stays in effect until its replacement, so that no request bypasses it meanwhile. */
  withdraw(): void {}

  forget({ object }: Owner, again: Again): void {
    this.#restrict(object, undefined, again);
  }

  /** Enforces or lifts an account's restriction. */
  #restrict(object: ResourceObject, admits: Admits | undefined, again: Again): void {
    if (!this.#compilation.restrictions.set(object, admits) || docOf(object, ipRestriction).type !== "endpoints")
      return;
    again.all(restrictedKinds, object.account_id);
  }
}

/** Throws if a policy is unusable. Until it is fixed, everyone is denied. */
function admissionOf(object: ResourceObject, scope: Scope): Admits | undefined {
  const { enforced, ip_policy_ids } = docOf(object, ipRestriction);
  return enforced ? compileAdmission(ip_policy_ids, scope) : undefined;
}

const unusable = denyStep("ip_restriction", "source_denied", "the account's restriction has a problem");

function admitsNobody(): Step {
  return unusable;
}
