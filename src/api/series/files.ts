/** The files of the history: one per level and period. A damaged line or file is skipped and reported. */
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Level } from "./levels.ts";
import { parseLine, renderLine } from "./series-lines.ts";
import type { StoredStep } from "./series-lines.ts";

export interface SeriesFiles {
  /** Returns the number of each file of the level. */
  list(level: Level): Promise<readonly number[]>;
  /** Returns the steps of a file, of one account or of all. The same step may occur several times. */
  read(level: Level, file: number, accountId?: string): Promise<readonly StoredStep[]>;
  /** Adds steps to a file. */
  append(level: Level, file: number, steps: readonly StoredStep[]): Promise<void>;
  /** Replaces a file in one step. A crash leaves the old or the new one. */
  replace(level: Level, file: number, steps: readonly StoredStep[]): Promise<void>;
  remove(level: Level, file: number): Promise<void>;
  /** Returns the length of a file in bytes; 0 without one. */
  size(level: Level, file: number): Promise<number>;
}

/** Maximum length of text that is parsed in one turn of the event loop. */
const sliceLength = 256 * 1024;
/** A larger file is not one of ours. */
const maxFileBytes = 256 * 1024 * 1024;

export function openSeriesFiles(directory: string, log: Log, metrics: Metrics): SeriesFiles {
  let damagedLines = 0;
  metrics.counterOf(
    "postern_series_damaged_lines_total",
    "Damaged lines in the stored history of traffic that were skipped.",
    () => damagedLines,
  );
  const pathOf = (level: Level, file: number): string => join(directory, `${level.name}-${file}`);
  /** Files that were reported, with the number of their damaged lines. */
  const reported = new Map<string, number>();
  const tell = (path: string, lines: number): void => {
    const known = reported.get(path) ?? 0;
    if (lines <= known) return;
    damagedLines += lines - known;
    reported.set(path, lines);
    log.warn("damaged lines in the history of traffic skipped", { file: path, lines });
  };
  const textOf = async (path: string): Promise<string> => {
    try {
      const found = await stat(path);
      if (found.size <= maxFileBytes) return await readFile(path, "utf8");
      tell(path, 1);
    } catch (error) {
      if (!isMissing(error) && !reported.has(path)) {
        reported.set(path, 0);
        log.warn("history of traffic not read", { file: path, error });
      }
    }
    return "";
  };
  /** Writes all of the text or none of it. @param isReplaced whether the file is to replace another one */
  const write = async (path: string, text: string, isReplaced: boolean): Promise<void> => {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const opened = await open(path, isReplaced ? "w" : "a", 0o600);
    try {
      const { size } = await opened.stat();
      try {
        await opened.appendFile(text);
      } catch (error) {
        await opened.truncate(size);
        throw error;
      }
      if (isReplaced) await opened.datasync();
    } finally {
      await opened.close();
    }
  };
  return {
    async list(level) {
      const names = await readdir(directory).catch(() => []);
      return names.flatMap((name) => {
        const [, number] = new RegExp(`^${level.name}-(\\d{1,10})$`).exec(name) ?? [];
        return number === undefined ? [] : [Number(number)];
      });
    },
    async read(level, file, accountId) {
      const path = pathOf(level, file);
      const text = await textOf(path);
      const steps: StoredStep[] = [];
      let damaged = 0;
      let turnEnds = sliceLength;
      for (let at = 0; at < text.length;) {
        const end = text.indexOf("\n", at);
        const line = text.slice(at, end < 0 ? text.length : end);
        at = end < 0 ? text.length : end + 1;
        if (line === "") continue;
        const step = parseLine(line, accountId);
        if (step === null) damaged += 1;
        else if (step) steps.push(step);
        if (at < turnEnds) continue;
        turnEnds = at + sliceLength;
        await nextTurn();
      }
      tell(path, damaged);
      return steps;
    },
    append: (level, file, steps) => write(pathOf(level, file), steps.map(renderLine).join(""), false),
    async replace(level, file, steps) {
      const path = pathOf(level, file);
      await write(`${path}.new`, steps.map(renderLine).join(""), true);
      await rename(`${path}.new`, path);
      reported.delete(path);
    },
    async remove(level, file) {
      await rm(pathOf(level, file), { force: true });
      reported.delete(pathOf(level, file));
    },
    size: async (level, file) => (await stat(pathOf(level, file)).catch(() => undefined))?.size ?? 0,
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
