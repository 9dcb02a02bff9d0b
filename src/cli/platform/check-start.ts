/** `postern serve --check`: reports what a start would do to the database. Starts and changes nothing. */
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { PlatformSettings } from "../../settings/settings.ts";
import { mayHold } from "../../storage/database-place.ts";
import { findSealingKey } from "../../storage/sealing/sealing-key.ts";
import { Failure } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";
import { checkListeners } from "./start-failure.ts";

export interface StartCheck {
  /**
   * `create`: the database does not exist. `migrate`: the steps in `pending` are due. `none`: the tables are up to
   * date.
   */
  readonly change: "create" | "migrate" | "none";
  /** Names of the migration steps, in order. */
  readonly pending: readonly string[];
  /** Path of the backup that the start writes before it migrates; absent if it writes none. */
  readonly backup?: string;
}

/** @throws Failure (usage) if the start would be refused: newer data, another sealing key, or a database in use */
export async function checkStart(settings: PlatformSettings, log: Log): Promise<StartCheck> {
  checkListeners(settings);
  const { data, database } = settings;
  if (!mayHold(database, data)) return { change: "create", pending: [] };
  try {
    const sealingKey = findSealingKey(data, settings.sealingKey) ?? [];
    const { checkStore } = await import("../../storage/opening/open-store.ts");
    const { pending, isNew, backup } = await checkStore({
      ...settings,
      version: posternVersion(),
      dataDirectory: data,
      sealingKey,
      clock: systemClock,
      log,
    });
    if (isNew) return { change: "create", pending: [] };
    if (pending.length === 0) return { change: "none", pending };
    return { change: "migrate", pending, ...(backup !== undefined && { backup }) };
  } catch (error) {
    throw new Failure("usage", (error as Error).message, { cause: error });
  }
}
