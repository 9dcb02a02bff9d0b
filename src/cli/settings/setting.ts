/** The vocabulary of settings: what one is, and the kinds of values that they take. */
import { hostIssue } from "../../lib/hostport.ts";
export interface Setting<T> {
  readonly doc: string;
  /** What stands for the value in the help; absent for a switch. */
  readonly placeholder?: string;
  /** Flag without dashes, where it is not the name in kebab-case. */
  readonly flag?: string;
  /** One letter that stands for the flag as well. */
  readonly short?: string;
  /** Environment variable, where it is not `POSTERN_` and the name. */
  readonly variable?: string;
  /** May also be read from a file: `--x-file`, `POSTERN_X_FILE`, `x_file`. Never printed. */
  readonly secret?: true;
  /** May be given several times; comma-separated in the environment, a list in the file. */
  readonly many?: true;
  /** Neither in the environment nor in the file: it is about one call. */
  readonly flagOnly?: true;
  /** The default as the help shows it. */
  readonly shown?: string;
  /** `undefined` when the setting was given nowhere. Throws `Error` with what the value must be. */
  read(texts: readonly string[] | undefined): T;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** A place to listen on. `host` undefined: every address. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

type Facts = Partial<Pick<Setting<unknown>, "placeholder" | "flag" | "short" | "variable" | "secret" | "shown">>;

export function text(doc: string, fallback: string, facts: Facts = {}): Setting<string> {
  return one(doc, { placeholder: "TEXT", ...facts }, fallback === "" ? undefined : fallback, fallback, nonEmpty);
}

export function optional(doc: string, facts: Facts = {}): Setting<string | undefined> {
  return one<string | undefined>(doc, { placeholder: "TEXT", ...facts }, undefined, undefined, nonEmpty);
}

/** What a header field carries as it is. */
export function optionalVisible(doc: string, facts: Facts = {}): Setting<string | undefined> {
  return one<string | undefined>(doc, { placeholder: "TEXT", ...facts }, undefined, undefined, (given) => {
    if (/^[\x21-\x7e][\x20-\x7e]*$/.test(given)) return given;
    throw new Error("must be visible ASCII characters");
  });
}

export function list(doc: string, facts: Facts = {}): Setting<readonly string[]> {
  return {
    doc,
    placeholder: "TEXT",
    ...facts,
    many: true,
    read: (texts) => (texts ?? []).map(nonEmpty),
  };
}

/** Host names, without wildcards; in lower case. */
export function hostNames(doc: string): Setting<readonly string[]> {
  return {
    doc,
    placeholder: "NAME",
    many: true,
    read: (texts) =>
      (texts ?? []).map((given) => {
        const name = given.toLowerCase();
        const issue = name.includes("*") ? 'be a name without "*"' : hostIssue(name);
        if (issue !== undefined) throw new Error(`must ${issue}`);
        return name;
      }),
  };
}

export function toggle(doc: string): Setting<boolean> {
  return one(doc, {}, undefined, false, (given) => {
    if (given === "true" || given === "1") return true;
    if (given === "false" || given === "0") return false;
    throw new Error("must be true or false");
  });
}

export function oneOf<const T extends string>(doc: string, values: readonly T[], fallback: T): Setting<T> {
  return one(doc, { placeholder: values.join("|") }, fallback, fallback, (given) => oneOfThese(given, values));
}

export function optionalOneOf<const T extends string>(
  doc: string,
  values: readonly T[],
  shown: string,
): Setting<T | undefined> {
  return one<T | undefined>(doc, { placeholder: values.join("|") }, shown, undefined, (given) =>
    oneOfThese(given, values),
  );
}

/** Version 1 or 2 of the PROXY protocol; 0 for none. */
export function proxyProtocol(doc: string): Setting<0 | 1 | 2> {
  return one<0 | 1 | 2>(doc, { placeholder: "1|2" }, "none", 0, (given) => {
    if (given === "1") return 1;
    if (given === "2") return 2;
    throw new Error("must be 1 or 2");
  });
}

/** A whole number from `least` up. */
export function count(doc: string, fallback: number, least = 1): Setting<number> {
  return one(doc, { placeholder: "NUMBER" }, String(fallback), fallback, (given) => {
    const number = Number(given);
    if (!/^\d{1,9}$/.test(given) || number < least) {
      throw new Error(`must be a whole number from ${least} to 999999999`);
    }
    return number;
  });
}

/** A whole number from 0 up, or nothing. */
export function optionalCount(doc: string, placeholder: string): Setting<number | undefined> {
  return one<number | undefined>(doc, { placeholder }, undefined, undefined, (given) => {
    if (!/^\d{1,9}$/.test(given)) throw new Error("must be a whole number from 0 to 999999999");
    return Number(given);
  });
}

/** The setting as an option of one call: neither in the environment nor in the file. */
export function flagOnly<T>(setting: Setting<T>): Setting<T> {
  return { ...setting, flagOnly: true };
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `FIRST-LAST`, both included. */
export function portRange(doc: string, fallback: string): Setting<PortRange> {
  return one(doc, { placeholder: "FIRST-LAST" }, fallback, parsePortRange(fallback), parsePortRange);
}

function parsePortRange(given: string): PortRange {
  const [first = 0, last = 0] = /^(\d{1,5})-(\d{1,5})$/.exec(given)?.slice(1).map(Number) ?? [];
  if (first === 0 || first > last || last > 65_535) throw new Error("must be two ports, such as 20000-20999");
  return { first, last };
}

/** `HOST:PORT`, `:PORT` or `PORT`; an IPv6 host in brackets. Port 0 takes any free one. */
export function listen(doc: string, fallback: string): Setting<ListenAddress> {
  return one(doc, { placeholder: "[HOST:]PORT" }, fallback, parseListen(fallback), parseListen);
}

export function optionalListen(doc: string): Setting<ListenAddress | undefined> {
  return one<ListenAddress | undefined>(doc, { placeholder: "[HOST:]PORT" }, "off", undefined, (given) =>
    given === "off" ? undefined : parseListen(given),
  );
}

export function optionalPort(doc: string, shown: string): Setting<number | undefined> {
  return one<number | undefined>(doc, { placeholder: "PORT" }, shown, undefined, parsePort);
}

export function parseListen(given: string): ListenAddress {
  const parts = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]/\s]*):)?(?<port>\d{1,5})$/.exec(given)?.groups;
  if (!parts) throw new Error("must be PORT, :PORT or HOST:PORT, with an IPv6 address in brackets");
  const host = parts.host?.replace(/^\[|\]$/g, "");
  return { host: host === "" || host === "*" ? undefined : host, port: parsePort(parts.port as string) };
}

export function parsePort(given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= 65_535)) throw new Error("must be a port from 0 to 65535");
  return port;
}

export function renderListen({ host, port }: ListenAddress): string {
  return host === undefined ? `:${port}` : `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A setting with one value. */
function one<T>(
  doc: string,
  facts: Facts,
  shown: string | undefined,
  fallback: T,
  parse: (given: string) => T,
): Setting<T> {
  return {
    doc,
    ...facts,
    ...(shown === undefined ? {} : { shown }),
    read(texts) {
      if (texts === undefined) return fallback;
      if (texts.length !== 1) throw new Error("may be given only once");
      return parse(texts[0] as string);
    },
  };
}

function nonEmpty(given: string): string {
  if (given === "") throw new Error("must not be empty");
  return given;
}

function oneOfThese<T extends string>(given: string, values: readonly T[]): T {
  if (!values.includes(given as T)) throw new Error(`must be one of ${values.join(", ")}`);
  return given as T;
}
