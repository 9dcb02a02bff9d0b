/** Does the long part of compiling in slices, before a change takes effect. */
import { runInSequence, runInSlices } from "../../lib/slices.ts";
import type { Steps } from "../../lib/slices.ts";
import type { ModulePlace } from "../../schema/object.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";

/** Configurations with fewer characters compile within a slice, so they are left to `compile`. */
const leastLength = 2048;

export type ModuleConfiguration = readonly [
  module: ModuleDeclaration,
  config: Readonly<Record<string, unknown>>,
  place: ModulePlace,
];

/**
 * Does the work of the modules' `compile` in advance. Undefined if that work is short.
 *
 * @param owner account of the work, see `runInSlices`
 * @returns a value to hold until the modules are compiled
 */
export function prepareModules(
  owner: string,
  configurations: Iterable<ModuleConfiguration>,
): Promise<readonly unknown[]> | undefined {
  const works: Steps<unknown>[] = [];
  let length = 0;
  for (const [module, config, place] of configurations) {
    const work = module.prepare?.(config as never, place);
    if (!work) continue;
    works.push(work.steps);
    length += work.length;
  }
  return length < leastLength ? undefined : runInSlices(owner, runInSequence(works));
}
