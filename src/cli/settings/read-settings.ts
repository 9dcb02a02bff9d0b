import { parseArgs } from "node:util";
import { Failure } from "../process/exit.ts";
import { agentFilesOf } from "../agent-files/default-file.ts";
import { readConfig, readSecret } from "./read-file.ts";
import { findNearest } from "../../lib/nearest.ts";
import { flagOf, keyOf, variableOf } from "../../settings/setting.ts";
import type { Setting, Settings, ValuesOf } from "../../settings/setting.ts";

/** Sources of settings. `args` are the arguments after the command's name. */
export interface Sources {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Name of the command, for messages. */
  readonly command: string;
  /** Settings of all commands. Other keys in the file are refused. */
  readonly known: Settings;
}

export interface ReadSettings<S extends Settings> {
  readonly values: ValuesOf<S>;
  readonly positionals: readonly string[];
}

/**
 * Returns the values of `settings` from flags, then the environment, then the file of `--config` or the agent files,
 * then defaults. Throws a `Failure` (usage) that names the setting, the source of the value, and the allowed values.
 */
export async function readSettings<const S extends Settings>(settings: S, sources: Sources): Promise<ReadSettings<S>> {
  const flags = readFlags(settings, sources);
  const file = await fileOf(settings, flags, sources);
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings)) {
    const found =
      fromFlags(name, setting, flags.texts) ??
      (setting.flagOnly ? undefined : (fromEnvironment(name, setting, sources.env) ?? fromFile(name, setting, file)));
    try {
      values[name] = setting.read(found?.texts);
    } catch (error) {
      const isHidden = setting.secret || setting.concealed || setting.placeholder === "JSON" || !found;
      const shown = isHidden ? "" : `: ${JSON.stringify(found.texts.join(","))}`;
      throw new Failure("usage", `${found?.origin ?? flagOf(name, setting)} ${(error as Error).message}${shown}`);
    }
  }
  checkNeeds(settings, values);
  return { values: values as ValuesOf<S>, positionals: flags.positionals };
}

/** Checks settings that require another setting. */
function checkNeeds(settings: Settings, values: Readonly<Record<string, unknown>>): void {
  for (const [name, setting] of Object.entries(settings)) {
    const other = setting.needs === undefined ? undefined : settings[setting.needs];
    if (!other || !isGiven(values[name]) || isGiven(values[setting.needs as string])) continue;
    const flags = `${flagOf(name, setting)} and ${flagOf(setting.needs as string, other)}`;
    throw new Failure("usage", `${flags} must be given together`);
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

interface SettingTexts {
  readonly texts: readonly string[];
  readonly origin: string;
}

interface Flags {
  /** By setting name; `name` + "File" for the file of a secret. */
  readonly texts: Map<string, string[]>;
  readonly positionals: readonly string[];
}

function readFlags(settings: Settings, { args, command }: Sources): Flags {
  const names = new Map<
    string,
    { readonly name: string; readonly type: "string" | "boolean"; bare?: string | undefined; short?: string }
  >();
  for (const [name, setting] of Object.entries(settings)) {
    const flag = flagOf(name, setting).slice(2);
    const short = setting.short === undefined ? {} : { short: setting.short };
    const { bare } = setting;
    const type = setting.placeholder === undefined || bare !== undefined ? "boolean" : "string";
    names.set(flag, { name, type, bare, ...short });
    for (const other of setting.also ?? []) if (!names.has(other)) names.set(other, { name, type });
    if (setting.secret) names.set(`${flag}-file`, { name: `${name}File`, type: "string" });
  }
  const options = Object.fromEntries(names);
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const texts = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const known = names.get(token.name);
    if (!known || (!token.rawName.startsWith("--") && token.rawName !== `-${known.short}`))
      throw new Failure("usage", unknownFlag(command, token.rawName, names.keys()));
    if (
      known.type === "string" &&
      (token.value === undefined || (!token.inlineValue && /^--?[a-z]/.test(token.value)))
    ) {
      throw new Failure("usage", `${token.rawName} needs a value: write ${token.rawName}=VALUE`);
    }
    texts.set(known.name, [...(texts.get(known.name) ?? []), token.value ?? known.bare ?? "true"]);
  }
  return { texts, positionals };
}

function unknownFlag(command: string, flag: string, known: Iterable<string>): string {
  const near = findNearest(
    flag,
    [...known].map((flag) => `--${flag}`),
  );
  const advice = near ? `: did you mean ${near}?` : `, see \`postern ${command} --help\``;
  return `\`postern ${command}\` has no option ${flag}${advice}`;
}

function fromFlags(
  name: string,
  setting: Setting<unknown>,
  flags: ReadonlyMap<string, string[]>,
): SettingTexts | undefined {
  const origin = flagOf(name, setting);
  const texts = flags.get(name);
  if (texts) return { texts, origin };
  const path = flags.get(`${name}File`)?.at(-1);
  return path === undefined ? undefined : secretIn(path, setting, `${origin}-file`);
}

function fromEnvironment(name: string, setting: Setting<unknown>, env: Sources["env"]): SettingTexts | undefined {
  const origin = variableOf(name, setting);
  const given = env[origin];
  if (given !== undefined && given !== "") return { texts: setting.many ? given.split(",") : [given], origin };
  const path = setting.secret ? env[`${origin}_FILE`] : undefined;
  if (path === undefined || path === "") return undefined;
  return secretIn(path, setting, `${origin}_FILE`);
}

/** A file contains one secret, or one per line if the setting can be repeated. */
function secretIn(path: string, setting: Setting<unknown>, origin: string): SettingTexts {
  const text = readSecret(path, origin);
  return { texts: setting.many ? text.split(/\r?\n/).filter((line) => line !== "") : [text], origin };
}

function fromFile(name: string, setting: Setting<unknown>, { path, values }: ValuesOfFile): SettingTexts | undefined {
  const key = keyOf(name);
  const texts = values.get(key);
  if (texts) return { texts, origin: path === undefined ? key : `${key} in ${path}` };
  const secret = setting.secret ? values.get(`${key}_file`)?.[0] : undefined;
  return secret === undefined ? undefined : secretIn(secret, setting, `${key}_file in ${path}`);
}

interface ValuesOfFile {
  readonly path?: string;
  /** By the key of a setting. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** Reads the file with settings, or the agent files if the command uses them. */
async function fileOf(settings: Settings, flags: Flags, { env, known }: Sources): Promise<ValuesOfFile> {
  const { agentConfig } = settings;
  if (agentConfig) {
    const given = fromFlags("agentConfig", agentConfig, flags.texts)?.texts;
    // An explicit data directory selects its own server, regardless of logins at other servers.
    const isHere = given === undefined && (flags.texts.has("data") || (env.POSTERN_DATA ?? "") !== "");
    const paths = isHere ? [] : agentFilesOf(given, env);
    // Most commands use no file, and start faster without loading the YAML parser.
    if (paths.length === 0) return { values: new Map() };
    const { agentValues } = await import("../agent-files/agent-values.ts");
    const warn = (warning: string): void => void process.stderr.write(`postern: ${warning}\n`);
    return { values: agentValues(paths, warn) };
  }
  const path = flags.texts.get("config")?.[0] ?? env.POSTERN_CONFIG;
  if (path === undefined || !("config" in settings)) return { values: new Map() };
  return { path, values: await readConfig(path, known) };
}
