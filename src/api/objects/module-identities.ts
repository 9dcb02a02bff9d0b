/** Identities of modules: created when a module is set, and kept until it is removed. */
import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ModuleOwner } from "../../traffic/module.ts";
import type { Doc } from "../../schema/doc.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import { modulesOf } from "../operation/resource-declarations.ts";
import { isJsonObject } from "../../lib/json.ts";

/** By module name: a function that returns the module's identity for its owner. */
export type ModuleIdentities = ReadonlyMap<string, (owner: ModuleOwner) => Doc>;

export const noModuleIdentities: ModuleIdentities = new Map();

/** Creates identities for the modules that `body` sets and `present` does not have. May take some 100 ms. */
export async function makeModuleIdentities(
  resource: ResourceDeclaration,
  body: JsonObject,
  present: Doc | undefined,
  nowMs: number,
): Promise<ModuleIdentities> {
  const missing = listLackingIdentity(resource, body, present);
  if (missing.length === 0) return noModuleIdentities;
  const made = await Promise.all(
    missing.map(async ([module]) => [module.name, await module.identify?.(nowMs)] as const),
  );
  return new Map(made as [string, (owner: ModuleOwner) => Doc][]);
}

/** Returns blank identities for the modules for which `makeModuleIdentities` would create one, for dry runs. */
export function makeBlankIdentities(
  resource: ResourceDeclaration,
  body: JsonObject,
  present: Doc | undefined,
): ModuleIdentities {
  return new Map(listLackingIdentity(resource, body, present).map(([module]) => [module.name, () => ({})]));
}

function listLackingIdentity(resource: ResourceDeclaration, body: JsonObject, present: Doc | undefined) {
  return modulesOf(resource).filter(
    ([module]) => "identify" in module && isJsonObject(body[module.name]) && !present?.[module.name],
  );
}

/** Returns `doc` with identities for the modules that `previous` did not have, or `doc` itself if there are none. */
export function addIdentities(
  resource: ResourceDeclaration,
  doc: Doc,
  previous: Doc | undefined,
  identities: ModuleIdentities,
  owner: ModuleOwner,
): Doc {
  let done = doc;
  for (const [module] of modulesOf(resource)) {
    const { name } = module;
    if (!("identify" in module) || !doc[name] || previous?.[name]) continue;
    const make = identities.get(name);
    // Another write removed the module while this one was being prepared.
    if (!make) throw new Refusal("write_unavailable", `another write has just changed module "${name}"`);
    done = { ...done, [name]: { ...(doc[name] as Doc), ...make(owner) } };
  }
  return done;
}
