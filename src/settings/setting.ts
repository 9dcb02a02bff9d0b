/**
 * Declares settings. Each setting is declared once, in this folder: its name, meaning, kind of value and default. The
 * declaring file states who reads it.
 */
import type { SettingKind } from "./kinds/kind.ts";

export interface Setting<T> {
  readonly doc: string;
  /** Placeholder for the value in the help; absent for a switch. */
  readonly placeholder?: string;
  /** Flag without dashes, if it is not the name in kebab-case. */
  readonly flag?: string;
  /** Other flags with the same meaning, which other agents use. */
  readonly also?: readonly string[];
  /** Value of the flag without an explicit one. An explicit value must then be given as `--flag=VALUE`. */
  readonly bare?: string;
  /** One-letter form of the flag. */
  readonly short?: string;
  /** Environment variable, if it is not `POSTERN_` and the name. */
  readonly variable?: string;
  /** Whether it may also be read from a file: `--x-file`, `POSTERN_X_FILE`, `x_file`. Never printed. */
  readonly secret?: true;
  /** Whether it may contain a secret, so that no message repeats it. */
  readonly concealed?: true;
  /** Whether it may be given several times: comma-separated in the environment, a list in the file. */
  readonly many?: true;
  /** Whether only the flag exists, because the setting concerns one run of a command. */
  readonly flagOnly?: true;
  /** The default as the help shows it. */
  readonly shownDefault?: string;
  /** Name of the setting without which this one has no effect. */
  readonly needs?: string;
  /** @param texts `undefined` if the setting was not given. Throws an `Error` with the allowed values. */
  read(texts: readonly string[] | undefined): T;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type ValuesOf<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

type Attributes = Partial<
  Pick<Setting<unknown>, "flag" | "also" | "short" | "variable" | "secret" | "concealed" | "shownDefault" | "needs">
>;

/** A setting that always has a value. The default is written like an operator's value. */
export function one<T>(
  doc: string,
  kind: SettingKind<T>,
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

/** An optional setting; `shownDefault` describes the behaviour without it. */
export function optional<T>(doc: string, kind: SettingKind<T>, more: Attributes = {}): Setting<T | undefined> {
  return {
    doc,
    placeholder: kind.placeholder,
    ...more,
    read: (texts) => onlyOne<T | undefined>(texts, kind, undefined),
  };
}

/** A setting that may be given several times. */
export function many<T>(doc: string, kind: SettingKind<T>, more: Attributes = {}): Setting<readonly T[]> {
  return {
    doc,
    placeholder: kind.placeholder,
    ...more,
    many: true,
    read: (texts) => (texts ?? []).map((given) => kind.parse(given)),
  };
}

/** A switch. Default: off. */
export function toggle(doc: string, more: Pick<Attributes, "also"> = {}): Setting<boolean> {
  return { doc, ...more, read: (texts) => onlyOne(texts, trueOrFalse, false) };
}

/** Returns the setting as a flag only: neither in the environment nor in the file. */
export function flagOnly<T>(setting: Setting<T>): Setting<T> {
  return { ...setting, flagOnly: true };
}

/** Returns the setting with a different default for a command. */
export function withDefault<T>(setting: Setting<T>, written: string): Setting<T> {
  const fallback = setting.read([written]);
  return { ...setting, shownDefault: written, read: (texts) => (texts === undefined ? fallback : setting.read(texts)) };
}

/** Returns the default values. */
export function defaultsOf<S extends Settings>(settings: S): ValuesOf<S> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, setting.read(undefined)]),
  ) as ValuesOf<S>;
}

/** Returns those of `values` that `settings` declare. */
export function sliceOf<S extends Settings>(settings: S, values: ValuesOf<S>): ValuesOf<S> {
  return Object.fromEntries(Object.keys(settings).map((name) => [name, values[name]])) as ValuesOf<S>;
}

export function flagOf(name: string, setting: Setting<unknown>): string {
  return `--${setting.flag ?? name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
}

/** Returns the placeholder after the flag in help and reference. */
export function shownValue({ placeholder, bare }: Setting<unknown>): string {
  if (placeholder === undefined) return "";
  return bare === undefined ? ` ${placeholder}` : `[=${placeholder}]`;
}

export function variableOf(name: string, setting: Setting<unknown>): string {
  return setting.variable ?? `POSTERN_${keyOf(name).toUpperCase()}`;
}

/** Returns the key in the YAML file. */
export function keyOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

const trueOrFalse: SettingKind<boolean> = {
  placeholder: "",
  parse(text) {
    if (text === "true" || text === "1") return true;
    if (text === "false" || text === "0") return false;
    throw new Error("must be true or false");
  },
};

function onlyOne<T>(texts: readonly string[] | undefined, kind: SettingKind<T>, fallback: T): T {
  if (texts === undefined) return fallback;
  if (texts.length !== 1) throw new Error("may be given only once");
  return kind.parse(texts[0] as string);
}
