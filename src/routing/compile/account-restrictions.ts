import type { CompiledModule } from "../../traffic/module.ts";
import { skipStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { docOf } from "../../schema/doc.ts";
import { ipRestriction } from "../../resources/ip-restriction.ts";

export type Admits = (source: string) => Step;

interface Restriction {
  /** Undefined if the restriction is not enforced. */
  admits: Admits | undefined;
  /** Constant while the account exists. Its behaviour changes without recompiling the routes that contain it. */
  readonly module: CompiledModule;
}

const lifted = skipStep("ip_restriction", "the account's restriction was removed in the meantime");

/** The addresses from which the parts of each account may be used (semantics, "Where an account may be used from"). */
export class AccountRestrictions {
  readonly #byPart = new Map<string, Restriction>();

  admits(accountId: string, part: string): Admits | undefined {
    return this.#byPart.get(`${accountId} ${part}`)?.admits;
  }

  /** Returns the modules that precede the modules of every edge and route of the account. */
  modules(accountId: string): readonly CompiledModule[] {
    const restriction = this.#byPart.get(`${accountId} endpoints`);
    return restriction?.admits ? [restriction.module] : none;
  }

  /** Sets a restriction. Returns true if its enforcement starts or stops. */
  set(object: ResourceObject, admits: Admits | undefined): boolean {
    const key = `${object.account_id} ${docOf(object, ipRestriction).type}`;
    let restriction = this.#byPart.get(key);
    if (!restriction) this.#byPart.set(key, (restriction = makeRestriction()));
    const was = restriction.admits !== undefined;
    restriction.admits = admits;
    return was !== (admits !== undefined);
  }
}

function makeRestriction(): Restriction {
  const decide = (source: string): Step => restriction.admits?.(source) ?? lifted;
  const restriction: Restriction = {
    admits: undefined,
    module: { connection: decide, request: ({ connection }) => decide(connection.source) },
  };
  return restriction;
}

const none: readonly CompiledModule[] = Object.freeze([]);
