/** Sums the files of one level into the next, and deletes old files. */
import type { SeriesFiles } from "./files.ts";
import { minutes } from "./levels.ts";
import type { Level } from "./levels.ts";
import type { StoredStep } from "./series-lines.ts";
import { Merged, trafficIn } from "./merged.ts";

/** Maximum size of one level on disk. */
const maxLevelBytes = 256 * 1024 * 1024;

/** Rewrites a file of minutes with one line per minute and account. Returns its steps. */
export async function sumMinutes(files: SeriesFiles, file: number): Promise<readonly StoredStep[]> {
  const found = await files.read(minutes, file);
  const merged = new Merged(minutes.stepMs, { services: minutes.maxServices });
  merged.addAll(found);
  const steps = merged.steps();
  if (steps.length < found.length) await files.replace(minutes, file, steps);
  return steps;
}

/**
 * Stores the sum of finer steps, unless the stored sum has more traffic, because a finer file was damaged.
 * @param at start of the step of `level`
 */
export async function putSum(
  files: SeriesFiles,
  level: Level,
  at: number,
  finer: readonly StoredStep[],
): Promise<void> {
  const file = Math.floor(at / level.fileMs);
  const stored = await files.read(level, file);
  const merged = new Merged(level.stepMs, { services: level.maxServices });
  merged.addAll(finer);
  const otherSteps = stored.filter((step) => step.at !== at);
  if (trafficIn(finer) < trafficIn(stored) - trafficIn(otherSteps)) return;
  await files.replace(level, file, [...otherSteps, ...merged.steps()]);
}

/** Deletes the files farthest from the present time. After a jump of the clock, the true history is near again. */
export async function pruneFiles(files: SeriesFiles, level: Level, now: number): Promise<void> {
  const distance = (file: number): number => Math.abs((file + 0.5) * level.fileMs - now);
  const all = (await files.list(level)).toSorted((one, other) => distance(one) - distance(other));
  let bytes = 0;
  for (const [place, file] of all.entries()) {
    bytes += await files.size(level, file);
    if (place >= level.maxFiles || bytes > maxLevelBytes) await files.remove(level, file);
  }
}
