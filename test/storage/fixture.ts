/** Stores for tests, closed after the file's tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { Log, LogFields } from "../../src/lib/log.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import type { StoreOptions } from "../../src/storage/opening/open-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { optionsFor } from "./declarations.ts";

const opened: Promise<Store>[] = [];

// A test that fails early leaves its store open, which would keep the process alive.
after(() => Promise.allSettled(opened.map(async (store) => (await store).close())));

export function closedAtEnd(store: Promise<Store>): Promise<Store> {
  opened.push(store);
  return store;
}

export function open(url: string, options: Partial<StoreOptions> = {}): Promise<Store> {
  return closedAtEnd(openStore({ ...optionsFor(url), ...options }));
}

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

/** Returns a log that stores its lines. */
export function keepingLog(): { readonly log: Log; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const keep =
    (level: string) =>
    (event: string, fields: LogFields = {}): void =>
      void lines.push({ level, event, fields });
  const log: Log = {
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
    with: () => log,
  };
  return { log, lines };
}

/** Provides a directory that is removed when `use` has ended. */
export async function inDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "postern-storage-"));
  try {
    await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
