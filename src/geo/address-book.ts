/** What this server knows about addresses: their location by databases, and categories by lists of networks. */
import { readAddress } from "../lib/address.ts";
import { Lru } from "../lib/collections/lru.ts";
import { isPublicAddress } from "../lib/public-address.ts";
import { reportFailure } from "../lib/boundary.ts";
import { joinLocations, locationIn, locationOf, readMembers, unknownLocation } from "./location.ts";
import type { Location } from "./location.ts";
import { Mmdb } from "./mmdb.ts";
import { NetworkSet } from "./network-set.ts";

/** Data in a form that threads share. */
export interface AddressData {
  /** For a field that several have, the first one counts. */
  readonly databases: readonly AddressDatabase[];
  /** Whether one of them contains countries. */
  readonly hasCountries: boolean;
  /** Fields of `Location` that some record has. */
  readonly fields?: readonly string[];
  readonly categories: readonly AddressCategory[];
}

export interface AddressDatabase {
  /** An MMDB file that was checked. */
  readonly bytes: SharedArrayBuffer;
  /** Set if its data about addresses that are not public are wrong. Other files may have an operator's own networks. */
  readonly isOnlyForPublic: boolean;
}

export interface AddressCategory {
  /** With dots between its parts: `proxy.anonymous.tor`. */
  readonly name: string;
  /** See `packNetworks`. */
  readonly networks: SharedArrayBuffer;
}

/** What rules read of an address. */
export interface AddressFacts {
  /**
   * False while rules need countries and none are loaded. Until then, locations are unknown, and rules by country must
   * deny.
   */
  readonly isReady: boolean;
  /** Call this when a rule that reads locations is compiled. */
  want(): void;
  locate(address: string): Location;
  /** Like `locate`, but loads nothing: undefined if no locations are loaded. For views. */
  known(address: string): Location | undefined;
  /** The names of the categories with the address, with their prefixes: `proxy.anonymous.tor`, `proxy.anonymous`, `proxy`. */
  categoriesOf(address: string): readonly string[];
}

/** For places without data. */
export const unknownAddresses: AddressFacts = Object.freeze({
  isReady: true,
  want() {},
  locate: () => unknownLocation,
  known: () => undefined,
  categoriesOf: () => [],
});

/** The facts of others, with one address in a country that a dry run assumes. */
export class AssumedCountry implements AddressFacts {
  readonly #others: AddressFacts;
  readonly #address: string;
  readonly #location: Location;

  constructor(facts: AddressFacts, address: string, countryCode: string) {
    this.#others = facts;
    this.#address = address;
    this.#location = locationIn(countryCode);
  }

  get isReady(): boolean {
    return this.#others.isReady;
  }

  want(): void {
    this.#others.want();
  }

  locate(address: string): Location {
    return address === this.#address ? this.#location : this.#others.locate(address);
  }

  known(address: string): Location | undefined {
    return address === this.#address ? this.#location : this.#others.known(address);
  }

  categoriesOf(address: string): readonly string[] {
    return this.#others.categoriesOf(address);
  }
}

/** Recent addresses with their facts, and records that were read. Clients choose addresses, so both are bounded. */
const mostAddresses = 2_048;
const mostRecords = 2_048;

interface OpenDatabase {
  readonly file: Mmdb;
  readonly isOnlyForPublic: boolean;
  readonly records: Lru<number, Location>;
}

interface Category {
  readonly names: readonly string[];
  readonly networks: NetworkSet;
}

const words = new Uint32Array(4);
const none: readonly string[] = Object.freeze([]);

export class AddressBook implements AddressFacts {
  readonly #wanted: () => void;
  #isWanted = false;
  #hasCountries = false;
  #ready: PromiseWithResolvers<void> | undefined;
  #databases: readonly OpenDatabase[] = [];
  #categories: readonly Category[] = [];
  #locations = new Lru<string, Location>(mostAddresses);
  #namesByAddress = new Lru<string, readonly string[]>(mostAddresses);

  /** @param wanted asks for the data, which then arrives with `take` */
  constructor(wanted: () => void) {
    this.#wanted = wanted;
  }

  get isReady(): boolean {
    return !this.#isWanted || this.#hasCountries;
  }

  /** Resolves when the wanted data has arrived, or if none is wanted. */
  get ready(): Promise<void> {
    return this.#ready?.promise ?? Promise.resolve();
  }

  want(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    if (this.#databases.length === 0) this.#ready = Promise.withResolvers();
    // Also if data is present: the operator learns that a rule uses it.
    this.#wanted();
  }

  /** Replaces all data. */
  take({ databases, hasCountries, categories }: AddressData): void {
    this.#hasCountries = hasCountries;
    this.#databases = databases.map(({ bytes, isOnlyForPublic }) => ({
      isOnlyForPublic,
      file: new Mmdb(Buffer.from(bytes), readMembers),
      records: new Lru(mostRecords),
    }));
    this.#categories = categories.map(({ name, networks }) => ({
      names: withPrefixes(name),
      networks: new NetworkSet(networks),
    }));
    this.#locations = new Lru(mostAddresses);
    this.#namesByAddress = new Lru(mostAddresses);
    this.#ready?.resolve();
    this.#ready = undefined;
  }

  locate(address: string): Location {
    if (this.#databases.length === 0) this.want();
    let location = this.#locations.get(address);
    if (location === undefined) this.#locations.set(address, (location = this.#find(address)));
    return location;
  }

  known(address: string): Location | undefined {
    return this.#databases.length === 0 ? undefined : this.locate(address);
  }

  categoriesOf(address: string): readonly string[] {
    if (this.#categories.length === 0) return none;
    let names = this.#namesByAddress.get(address);
    if (names === undefined) this.#namesByAddress.set(address, (names = this.#namesOf(address)));
    return names;
  }

  #find(address: string): Location {
    const family = readAddress(address, words);
    if (family === 0) return unknownLocation;
    let found = unknownLocation;
    for (const { file, records, isOnlyForPublic } of this.#databases) {
      if (isOnlyForPublic && !isPublicAddress(address)) continue;
      const offset = file.find(family, words);
      if (offset === undefined) continue;
      let location = records.get(offset);
      if (location === undefined) records.set(offset, (location = readLocation(file, offset)));
      found = found === unknownLocation ? location : joinLocations(found, location);
    }
    return found;
  }

  #namesOf(address: string): readonly string[] {
    const family = readAddress(address, words);
    if (family === 0) return none;
    const found = new Set<string>();
    for (const { names, networks } of this.#categories) {
      if (networks.has(family, words)) for (const name of names) found.add(name);
    }
    return [...found];
  }
}

/** A damaged record, which the check of the file did not read, is unknown. */
function readLocation(file: Mmdb, offset: number): Location {
  try {
    return locationOf(file.read(offset));
  } catch (error) {
    reportFailure("task", error);
    return unknownLocation;
  }
}

function withPrefixes(name: string): readonly string[] {
  const parts = name.split(".");
  return parts.map((_, at) => parts.slice(0, parts.length - at).join("."));
}
