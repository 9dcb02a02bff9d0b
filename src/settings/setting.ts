/**
 * The vocabulary of settings. A setting is declared once, in this folder: its name, what it means, the kind of its
 * value, and its default. Who reads it is said by the file that declares it.
 */
import type { Kind } from "./kinds/kind.ts";

export interface Setting<T> {
  readonly doc: string;
  /** What stands for the value in the help; absent for a switch. */
  readonly placeholder?: string;
  /** Flag without dashes, where it is not the name in kebab-case. */
  readonly flag?: string;
  /** Other flags that mean the same, as other agents have them. */
  readonly also?: readonly string[];
  /** The value of the flag without one; a value is then given as `--flag=VALUE`. */
  readonly bare?: string;
  /** One letter that stands for the flag as well. */
  readonly short?: string;
  /** Environment variable, where it is not `POSTERN_` and the name. */
  readonly variable?: string;
  /** May also be read from a file: `--x-file`, `POSTERN_X_FILE`, `x_file`. Never printed. */
  readonly secret?: true;
  /** May hold a secret, so that no message repeats it. */
  readonly concealed?: true;
  /** May be given several times; comma-separated in the environment, a list in the file. */
  readonly many?: true;
  /** Neither in the environment nor in the file: it is about one run of a command. */
  readonly flagOnly?: true;
  /** The default as the help shows it. */
  readonly shownDefault?: string;
  /** The name of another setting, without which this one means nothing. */
  readonly needs?: string;
  /** `undefined` when the setting was given nowhere. Throws `Error` with what the value must be. */
  read(texts: readonly string[] | undefined): T;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

type Attributes = Partial<
  Pick<Setting<unknown>, "flag" | "also" | "short" | "variable" | "secret" | "concealed" | "shownDefault" | "needs">
>;

/** A setting that always has a value; the default is written as an operator would write it. */
export function one<T>(
  doc: string,
  kind: Kind<T>,
  { default: written, ...more }: Attributes & { readonly default: string | number },
): Setting<T> {
  const shownDefault = String(written);
  const fallback = kind.parse(shownDefault);
  return {
    doc,
    placeholder: kind.placeholder,
    shownDefault,
    ...more,
    read: (texts) => onlyOne(texts, kind, fallback),
  };
}

/** A setting that may be left out; `shownDefault` says what happens then. */
export function optional<T>(doc: string, kind: Kind<T>, more: Attributes = {}): Setting<T | undefined> {
  return {
    doc,
    placeholder: kind.placeholder,
    ...more,
    read: (texts) => onlyOne<T | undefined>(texts, kind, undefined),
  };
}

/** A setting that may be given any number of times. */
export function many<T>(doc: string, kind: Kind<T>, more: Attributes = {}): Setting<readonly T[]> {
  return {
    doc,
    placeholder: kind.placeholder,
    ...more,
    many: true,
    read: (texts) => (texts ?? []).map((given) => kind.parse(given)),
  };
}

/** A switch, off unless given. */
export function toggle(doc: string, more: Pick<Attributes, "also"> = {}): Setting<boolean> {
  return { doc, ...more, read: (texts) => onlyOne(texts, trueOrFalse, false) };
}

/** The setting as an option of one run of a command: neither in the environment nor in the file. */
export function flagOnly<T>(setting: Setting<T>): Setting<T> {
  return { ...setting, flagOnly: true };
}

/** The setting where a command has another default. */
export function withDefault<T>(setting: Setting<T>, written: string): Setting<T> {
  const fallback = setting.read([written]);
  return { ...setting, shownDefault: written, read: (texts) => (texts === undefined ? fallback : setting.read(texts)) };
}

/** The values when nothing is given. */
export function defaultsOf<S extends Settings>(settings: S): ValuesOf<S> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, setting.read(undefined)]),
  ) as ValuesOf<S>;
}

/** Those of `values` that `settings` declare: what one reader gets of all that was given. */
export function sliceOf<S extends Settings>(settings: S, values: ValuesOf<S>): ValuesOf<S> {
  return Object.fromEntries(Object.keys(settings).map((name) => [name, values[name]])) as ValuesOf<S>;
}

export function flagOf(name: string, setting: Setting<unknown>): string {
  return `--${setting.flag ?? name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
}

/** What follows the flag in help and reference. */
export function shownValue({ placeholder, bare }: Setting<unknown>): string {
  if (placeholder === undefined) return "";
  return bare === undefined ? ` ${placeholder}` : `[=${placeholder}]`;
}

export function variableOf(name: string, setting: Setting<unknown>): string {
  return setting.variable ?? `POSTERN_${keyOf(name).toUpperCase()}`;
}

/** The key in the YAML file. */
export function keyOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

const trueOrFalse: Kind<boolean> = {
  placeholder: "",
  parse(given) {
    if (given === "true" || given === "1") return true;
    if (given === "false" || given === "0") return false;
    throw new Error("must be true or false");
  },
};

function onlyOne<T>(texts: readonly string[] | undefined, kind: Kind<T>, fallback: T): T {
  if (texts === undefined) return fallback;
  if (texts.length !== 1) throw new Error("may be given only once");
  return kind.parse(texts[0] as string);
}
