/** The three resolutions of the stored history. */
import { dayMs, hourMs, minuteMs } from "../../lib/durations.ts";

export interface Level {
  /** Prefix of its files. */
  readonly name: "minute" | "hour" | "day";
  readonly stepMs: number;
  /** Period of one file. */
  readonly fileMs: number;
  /** Maximum number of files. The files that are farthest from the present time are deleted. */
  readonly maxFiles: number;
  /** How far back it can be read. */
  readonly keptMs: number;
  /** Maximum number of services of an account in one step, besides the sum of the others. */
  readonly maxServices: number;
}

export const minutes: Level = {
  name: "minute",
  stepMs: minuteMs,
  fileMs: hourMs,
  maxFiles: 49,
  keptMs: 48 * hourMs,
  maxServices: 100,
};
export const hours: Level = {
  name: "hour",
  stepMs: hourMs,
  fileMs: dayMs,
  maxFiles: 36,
  keptMs: 35 * dayMs,
  maxServices: 100,
};
export const days: Level = {
  name: "day",
  stepMs: dayMs,
  fileMs: 32 * dayMs,
  maxFiles: 13,
  keptMs: 384 * dayMs,
  maxServices: 100,
};

/** From the finest to the coarsest. The files of one level have the period of one step of the next. */
export const levels: readonly Level[] = [minutes, hours, days];

/** Returns the level that answers questions with this step. */
export function levelOf(stepMs: number): Level {
  return levels.findLast((level) => stepMs % level.stepMs === 0) ?? minutes;
}

export function floorTo(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs;
}
