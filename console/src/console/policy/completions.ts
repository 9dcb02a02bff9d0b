/** Returns the completions at the cursor in a policy, from the server's description of the language. */
import type { PolicyLanguage } from "../../../../sdk/src/index.ts";
import type { Protocol } from "./language.ts";

export interface Offer {
  readonly label: string;
  readonly detail?: string;
  readonly info?: string;
  /** Inserted text. Default: the label. */
  readonly apply?: string;
  readonly kind: "variable" | "function" | "keyword" | "property" | "type";
}

export interface Offers {
  /** Number of characters before the cursor that are replaced. */
  readonly replaces: number;
  readonly offers: readonly Offer[];
}

interface ConfigSchema {
  readonly description?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly ConfigSchema[];
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly $defs?: Readonly<Record<string, ConfigSchema>>;
}

type Phase = PolicyLanguage["protocols"]["http"][number];

/** @param before text before the cursor */
export function offersAt(before: string, language: PolicyLanguage, protocol: Protocol): Offers | undefined {
  const phases = language.protocols[protocol];
  const lines = before.split("\n");
  const line = lines.at(-1) ?? "";
  const phase = phaseOf(lines, phases);
  if (isExpression(lines)) return phase && inExpression(line, phase, language.macros);
  const [, indent = "", typed = ""] = /^([ -]*)([\w-]*)$/.exec(line) ?? [];
  const action = /\btype: *["']?([\w-]*)$/.exec(line);
  if (action && phase) return { replaces: action[1]?.length ?? 0, offers: actionsOf(phase, language, indentOf(line)) };
  if (!/^[ -]*[\w-]*$/.test(line)) return undefined;
  if (indent === "") return { replaces: typed.length, offers: phases.map(phaseOffer) };
  return { replaces: typed.length, offers: keysAt(lines, indent.length, language) };
}

function phaseOffer({ phase }: Phase): Offer {
  return { label: phase, apply: `${phase}:\n  - `, kind: "keyword" };
}

/** Returns the phase that contains the last line. */
function phaseOf(lines: readonly string[], phases: readonly Phase[]): Phase | undefined {
  const name = lines.findLast((line) => /^["']?\w+["']?:/.test(line))?.match(/\w+/)?.[0];
  const known = name === "inbound" ? phases[0] : phases.find(({ phase }) => phase === name);
  return name === "outbound" ? phases.find(({ phase }) => phase === "on_http_response") : known;
}

function isExpression(lines: readonly string[]): boolean {
  const line = lines.at(-1) ?? "";
  if (line.lastIndexOf("${") > line.lastIndexOf("}")) return true;
  if (/\b(?:expressions|bucket_key): *\[[^\]]*$/.test(line)) return true;
  if (!/^ *- /.test(line)) return false;
  const indent = indentOf(line);
  const above = lines
    .slice(0, -1)
    .findLast((one) => one.trim() !== "" && (indentOf(one) < indent || !/^ *- /.test(one)));
  return above !== undefined && /\b(?:expressions|bucket_key): *$/.test(above);
}

function indentOf(line: string): number {
  return /^ */.exec(line)?.[0].length ?? 0;
}

function inExpression(line: string, phase: Phase, macros: readonly string[]): Offers {
  const [, path = "", word = ""] = /((?:[A-Za-z_]\w*(?:\[[^\]]*\])?\.)*)([A-Za-z_]\w*)?$/.exec(line) ?? [];
  const replaces = word.length;
  if (path === "") return { replaces, offers: [...variablesBelow("", phase), ...callsOf(undefined, phase, macros)] };
  const name = path.slice(0, -1).replaceAll(/\[[^\]]*\]/g, "");
  const type = phase.variables.find((one) => one.name === name)?.type;
  const below = variablesBelow(path, phase);
  return { replaces, offers: [...below, ...(below.length === 0 || type ? callsOf(type ?? "", phase, macros) : [])] };
}

/** Returns the next parts of all variable names below `path`. */
function variablesBelow(path: string, { variables }: Phase): readonly Offer[] {
  const found = new Map<string, Offer>();
  for (const { name, type } of variables) {
    if (!name.startsWith(path)) continue;
    const part = name.slice(path.length).split(".", 1)[0] ?? "";
    const isWhole = path + part === name;
    if (part !== "" && (isWhole || !found.has(part))) {
      found.set(part, { label: part, detail: isWhole ? type : "…", kind: "variable" });
    }
  }
  return [...found.values()];
}

/** @param target type of the receiver; "": unknown; undefined: no receiver */
function callsOf(target: string | undefined, { functions }: Phase, macros: readonly string[]): readonly Offer[] {
  const isCollection = target === "" || /^(?:list|map)\(/.test(target ?? "");
  const fitting = functions.flatMap(({ name, signatures }) => {
    const ways = signatures.filter((one) =>
      target === undefined
        ? one.startsWith(`${name}(`)
        : isFor(one.slice(0, one.indexOf(`.${name}(`)), one, name, target),
    );
    return ways.length === 0
      ? []
      : [
          {
            label: name,
            detail: ways[0] as string,
            ...(ways.length > 1 && { info: ways.join("\n") }),
            kind: "function",
          } as const,
        ];
  });
  const own = macros
    .filter((name) => (target === undefined ? name === "has" : isCollection && name !== "has"))
    .map(
      (name) => ({ label: name, detail: name === "has" ? "has(a.b)" : `list.${name}(x, …)`, kind: "keyword" }) as const,
    );
  return [...fitting, ...own];
}

function isFor(of: string, signature: string, name: string, target: string): boolean {
  if (signature.startsWith(`${name}(`)) return false;
  const outer = (type: string): string => type.split("(", 1)[0] ?? type;
  return target === "" || target === "dyn" || of === target || (outer(of) === outer(target) && of.includes("("));
}

/** Returns the actions, each with its required fields. */
function actionsOf({ actions }: Phase, { schema }: PolicyLanguage, indent: number): readonly Offer[] {
  const { $defs = {} } = schema as ConfigSchema;
  return actions.map((type) => {
    const config = configOf($defs[type]);
    const fields = (config?.required ?? []).map((name) => {
      const field = config?.properties?.[name];
      return `\n${" ".repeat(indent + 4)}${name}: ${exampleOf(field)}`;
    });
    const rest = fields.length === 0 ? "" : `\n${" ".repeat(indent + 2)}config:${fields.join("")}`;
    const info = $defs[type]?.description;
    return { label: type, kind: "type", apply: type + rest, ...(info !== undefined && { info }) };
  });
}

function exampleOf(field: ConfigSchema | undefined): string {
  const plain = field?.anyOf?.find((one) => one.type !== "null" && Object.keys(one).length > 0) ?? field;
  if (plain?.enum) return String(plain.enum[0]);
  if (plain?.examples) return JSON.stringify(plain.examples[0]);
  return { array: "[]", object: "{}", boolean: "true", integer: "1", number: "1" }[plain?.type ?? ""] ?? '""';
}

function configOf(action: ConfigSchema | undefined): ConfigSchema | undefined {
  const config = action?.properties?.["config"];
  return config?.properties ? config : config?.anyOf?.find(({ properties }) => properties !== undefined);
}

/** Returns keys of a rule, an action, or an action's configuration, depending on the lines above. */
function keysAt(lines: readonly string[], indent: number, { schema }: PolicyLanguage): readonly Offer[] {
  const { $defs = {} } = schema as ConfigSchema;
  const above = lines.slice(0, -1).filter((one) => one.trim() !== "");
  const holder = above.findLast((one) => indentOf(one) < indent && /:\s*$/.test(one));
  const key = /([\w]+): *$/.exec(holder ?? "")?.[1] ?? "";
  if (key === "config") {
    const type = above.findLast((one) => /\btype:/.test(one))?.match(/type: *["']?([\w-]+)/)?.[1] ?? "";
    const { properties = {} } = configOf($defs[type]) ?? {};
    return Object.entries(properties).map(([name, { description = "" }]) => keyOffer(name, description));
  }
  if (key === "actions") return [keyOffer("type", "The actions to run."), keyOffer("config", "How.")];
  return ["name", "expressions", "actions"].map((name) => keyOffer(name, ""));
}

function keyOffer(name: string, info: string): Offer {
  return { label: name, apply: `${name}: `, kind: "property", ...(info !== "" && { info }) };
}
