/** The long part of compiling, done in slices before a change is put into effect. */
import { oneAfterAnother, runInSlices } from "../../lib/slices.ts";
import type { Steps } from "../../lib/slices.ts";
import type { Place } from "../../schema/object.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";

/** Work for fewer characters of configuration than this takes less than a slice: it is left to `compile`. */
const leastLength = 2048;

export type ModuleConfiguration = readonly [
  module: ModuleDeclaration,
  config: Readonly<Record<string, unknown>>,
  place: Place,
];

/**
 * Does beforehand what the modules would do in `compile`; undefined where that is quick anyway.
 *
 * @param owner for whom: see `runInSlices`
 * @returns what must be held until the modules were compiled
 */
export function prepareModules(
  owner: string,
  given: Iterable<ModuleConfiguration>,
): Promise<readonly unknown[]> | undefined {
  const works: Steps<unknown>[] = [];
  let length = 0;
  for (const [module, config, place] of given) {
    const work = module.prepare?.(config as never, place);
    if (!work) continue;
    works.push(work.steps);
    length += work.length;
  }
  return length < leastLength ? undefined : runInSlices(owner, oneAfterAnother(works));
}
