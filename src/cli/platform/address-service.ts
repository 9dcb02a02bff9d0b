/**
 * Loads locations and categories of addresses in the server's main thread, and gives them to all edges. A file or list
 * that cannot be used never replaces a good one.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { AddressData } from "../../geo/address-book.ts";
import { loadDatabase, loadShippedCountries } from "../../geo/load-database.ts";
import type { LoadedDatabase } from "../../geo/load-database.ts";
import { downloadList, loadList } from "../../geo/load-list.ts";
import type { LoadedList } from "../../geo/load-list.ts";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { AddressSettings } from "../../settings/addresses.ts";
import type { CategoryPlace } from "../../settings/kinds/address-category.ts";
import { dataFiles } from "../data/data-files.ts";
import { Failure } from "../process/exit.ts";
import type { ServerProblem } from "./threads/thread-messages.ts";

/** Interval between two looks at the files, milliseconds. A changed file is read when two looks see the same. */
const watchMs = 5_000;
/** Interval between two downloads of a list, milliseconds, and after a failed one. */
const refreshMs = 3_600_000;
const retryMs = 300_000;
const dayMs = 86_400_000;
/** Older databases are wrong about one address in fifty and more, days. */
const mostDays = 120;
const shippedName = "the database of countries that Postern contains";

export interface AddressServiceOptions {
  readonly settings: AddressSettings;
  /** The server's data directory. */
  readonly data: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with new data for the edges. */
  readonly changed: (data: AddressData) => void;
  readonly problem: (problem: ServerProblem) => void;
}

interface DataFile<Loaded> {
  readonly part: string;
  readonly path: string;
  loaded: Loaded | undefined;
  /** Size and times of the file in use, and those of the last look. */
  seen: string;
  lastSeen: string;
}

export class AddressService {
  readonly #options: AddressServiceOptions;
  readonly #databases: readonly DataFile<LoadedDatabase>[];
  readonly #files: readonly (DataFile<LoadedList> & { readonly category: CategoryPlace })[];
  readonly #downloads: readonly { readonly category: CategoryPlace; loaded: LoadedList | undefined }[];
  readonly #timers = new Set<Timer>();
  readonly #stopping = new AbortController();
  #shipped: LoadedDatabase | undefined;
  #loadingShipped: Promise<void> | undefined;
  #isLooking = false;

  constructor(options: AddressServiceOptions) {
    this.#options = options;
    const { geoDatabase, ipCategory } = options.settings;
    const unread = { loaded: undefined, seen: "", lastSeen: "" };
    this.#databases = geoDatabase.map((path) => ({ part: "geo_database", path, ...unread }));
    this.#files = ipCategory
      .filter(({ isUrl }) => !isUrl)
      .map((category) => ({ category, part: partOf(category), path: category.place, ...unread }));
    this.#downloads = ipCategory.filter(({ isUrl }) => isUrl).map((category) => ({ category, loaded: undefined }));
  }

  get #hasCountries(): boolean {
    return this.#shipped !== undefined || this.#databases.some(({ loaded }) => loaded?.hasCountries);
  }

  /** Undefined until something was loaded. */
  get data(): AddressData | undefined {
    const { geoDatabase, ipCategory } = this.#options.settings;
    if (geoDatabase.length + ipCategory.length === 0 && this.#shipped === undefined) return undefined;
    const databases = [...this.#databases.map(({ loaded }) => loaded), this.#shipped];
    const fields = new Set(databases.flatMap((loaded) => [...(loaded?.fields ?? [])]));
    const lists = [...this.#files, ...this.#downloads];
    return {
      databases: databases.flatMap((loaded) =>
        loaded ? { bytes: loaded.bytes, isOnlyForPublic: loaded.isOnlyForPublic } : [],
      ),
      hasCountries: this.#hasCountries,
      fields: [...fields],
      categories: lists.flatMap(({ category: { name }, loaded }) =>
        loaded ? { name, networks: loaded.networks } : [],
      ),
    };
  }

  /**
   * Loads the operator's files, and begins to watch them. Rejects with `Failure` (usage) if one cannot be used: without
   * it, rules by country would decide something else than the operator wants.
   */
  async start(): Promise<void> {
    for (const source of this.#databases) await this.#first("--geo-database", source, loadDatabase);
    for (const source of this.#files) await this.#first("--ip-category", source, loadList);
    for (const download of this.#downloads) download.loaded = await this.#copyOf(download.category);
    const { geoDatabase, ipCategory } = this.#options.settings;
    if (geoDatabase.length + ipCategory.length > 0 && !this.#databases.some(({ loaded }) => loaded?.hasCountries)) {
      await this.wanted();
    }
    this.#reportAges();
    if (this.#databases.length + this.#files.length > 0)
      this.#every(watchMs, () => runUnattended("task", this.look(false)));
    this.#every(dayMs, () => this.#reportAges());
    for (const download of this.#downloads) runUnattended("task", this.#refresh(download));
  }

  /** A rule needs locations. */
  async wanted(): Promise<void> {
    if (this.#hasCountries) return;
    await (this.#loadingShipped ??= this.#loadShipped());
  }

  /**
   * Reads changed files again.
   *
   * @param areComplete whether the operator says so; otherwise a file must be the same in two looks
   */
  async look(areComplete: boolean): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#lookAtAll(areComplete);
    } finally {
      this.#isLooking = false;
    }
  }

  stop(): void {
    this.#stopping.abort();
    for (const timer of this.#timers) timer.cancel();
  }

  async #loadShipped(): Promise<void> {
    try {
      this.#shipped = await loadShippedCountries();
    } catch (error) {
      const message = `cannot read ${shippedName} (${(error as Error).message}): install Postern again, or set --geo-database`;
      this.#tell("geo_database", message);
    }
    // Edges wait for an answer, also for a bad one.
    this.#options.changed(this.data ?? { databases: [], hasCountries: false, categories: [] });
    this.#reportAges();
  }

  async #first<Loaded>(flag: string, source: DataFile<Loaded>, load: (path: string) => Promise<Loaded>): Promise<void> {
    try {
      source.seen = source.lastSeen = await readStamp(source.path);
      source.loaded = await load(source.path);
    } catch (error) {
      const message = `cannot use "${source.path}" for ${flag}: ${(error as Error).message}. Replace the file, or remove the setting`;
      throw new Failure("usage", message, { cause: error });
    }
  }

  async #lookAtAll(areComplete: boolean): Promise<void> {
    const changes: boolean[] = [];
    for (const source of this.#databases) changes.push(await this.#reread(source, loadDatabase, areComplete));
    for (const source of this.#files) changes.push(await this.#reread(source, loadList, areComplete));
    if (!changes.includes(true)) return;
    this.#publish();
    this.#reportAges();
  }

  /** Returns whether new content is in use. */
  async #reread<Loaded>(
    source: DataFile<Loaded>,
    load: (path: string) => Promise<Loaded>,
    isComplete: boolean,
  ): Promise<boolean> {
    const { path } = source;
    const now = await readStamp(path).catch(() => "missing");
    const isSettled = isComplete || now === source.lastSeen;
    source.lastSeen = now;
    if (!isSettled || now === source.seen) return false;
    source.seen = now;
    try {
      source.loaded = await load(path);
    } catch (error) {
      this.#tell(
        `${source.part} ${path}`,
        `"${path}" cannot be used, so its earlier content stays: ${(error as Error).message}`,
      );
      return false;
    }
    this.#tell(`${source.part} ${path}`, undefined);
    this.#options.log.info("read a changed file of addresses", { file: path });
    return true;
  }

  async #refresh(download: { readonly category: CategoryPlace; loaded: LoadedList | undefined }): Promise<void> {
    const { category } = download;
    const { clock } = this.#options;
    let nextMs = refreshMs;
    try {
      const loaded = await downloadList(category.place, clock, this.#stopping.signal);
      const isNew = loaded.text !== download.loaded?.text;
      download.loaded = loaded;
      this.#tell(partOf(category), undefined);
      if (isNew) {
        this.#keepCopy(category, loaded.text);
        this.#publish();
      }
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      nextMs = retryMs;
      const instead = download.loaded ? "its last good copy stays" : "no address has this category";
      this.#tell(
        partOf(category),
        `the list of "${category.name}" cannot be used, so ${instead}: ${(error as Error).message}`,
      );
    }
    const timer = clock.after(nextMs, () => {
      this.#timers.delete(timer);
      runUnattended("task", this.#refresh(download));
    });
    this.#timers.add(timer);
  }

  async #copyOf(category: CategoryPlace): Promise<LoadedList | undefined> {
    try {
      return await loadList(this.#copyPath(category));
    } catch {
      // The first download has not succeeded yet.
      return undefined;
    }
  }

  #keepCopy(category: CategoryPlace, text: string): void {
    const path = this.#copyPath(category);
    try {
      mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.new`, text, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      this.#options.log.warn("cannot keep a copy of an address list for the next start", {
        file: path,
        error: (error as Error).message,
      });
    }
  }

  #copyPath({ name }: CategoryPlace): string {
    return join(this.#options.data, dataFiles.addressLists, name);
  }

  #publish(): void {
    if (this.data) this.#options.changed(this.data);
  }

  #reportAges(): void {
    const used = [
      ...this.#databases.map(({ path, loaded }) => [`"${path}"`, `geo_database age of ${path}`, loaded] as const),
      [shippedName, "geo_database age", this.#shipped] as const,
    ];
    for (const [name, part, loaded] of used) {
      if (loaded === undefined) continue;
      const days = Math.floor((this.#options.clock.now() - loaded.builtAt) / dayMs);
      const day = new Date(loaded.builtAt).toISOString().slice(0, 10);
      const isOld = days > mostDays;
      if (!isOld) this.#options.log.info("locations of addresses", { database: name, from: day, days });
      this.#tell(
        part,
        isOld
          ? `${name} is from ${day}, ${days} days ago: newer files know more addresses, see the guide "Allow or block countries"`
          : undefined,
      );
    }
  }

  #tell(part: string, message: string | undefined): void {
    if (message !== undefined) this.#options.log.warn("data about addresses", { part, problem: message });
    this.#options.problem({ part, message });
  }

  #every(periodMs: number, run: () => void): void {
    this.#timers.add(this.#options.clock.every(periodMs, run));
  }
}

function partOf({ name }: CategoryPlace): string {
  return `ip_category ${name}`;
}

async function readStamp(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs}`;
}
