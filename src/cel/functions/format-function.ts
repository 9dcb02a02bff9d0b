/** `'%s is %d'.format([a, b])`: the verbs s d f e b o x X, and %% for a percent sign. */
import { CelFailure } from "../values/cel-failure.ts";
import { mapGet, mapKeys } from "../values/map.ts";
import type { Result, Run } from "../values/budget.ts";
import { durationText, timestampText } from "../values/time.ts";
import { Duration, kindOf, Timestamp, TypeValue, Uint } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";

const clause = /%(?:(%)|(?:\.(\d{1,3}))?([a-zA-Z]?))/g;
/** Maximum number of digits after the point. */
const maxPrecision = 100;

/** Functions that create text charge the run before they create it. */
export function formatText(pattern: string, values: readonly Value[], run: Run): Result {
  let text = "";
  let from = 0;
  let next = 0;
  for (const found of pattern.matchAll(clause)) {
    const [all, percent, precision, verb] = found;
    let part: string | CelFailure = "%";
    if (percent === undefined) {
      if (next >= values.length) return new CelFailure(`format has ${values.length} values and wants more`);
      part = renderVerb(verb ?? "", precision, values[next] as Value, run);
      next += 1;
    }
    if (part instanceof CelFailure) return part;
    text += pattern.slice(from, found.index) + part;
    from = found.index + all.length;
    const failed = text.length > run.limits.textLength ? run.makeText(text.length) : run.spendText(part.length);
    if (failed) return failed;
  }
  text += pattern.slice(from);
  return run.makeText(text.length) ?? text;
}

function renderVerb(verb: string, precision: string | undefined, value: Value, run: Run): string | CelFailure {
  switch (verb) {
    case "s":
      return textOf(value, run);
    case "d":
      return renderDecimal(value);
    case "f":
    case "e":
      return renderFixed(verb, Number(precision ?? 6), value, run);
    case "b":
    case "o":
      return renderDigits(verb, value);
    case "x":
      return renderHexadecimal(value, run);
    case "X": {
      const lower = renderHexadecimal(value, run);
      return typeof lower === "string" ? lower.toUpperCase() : lower;
    }
    default:
      return new CelFailure(`format has no clause %${verb}`);
  }
}

function failVerb(verb: string, value: Value): CelFailure {
  return new CelFailure(`%${verb} cannot show a value of type ${kindOf(value)}`);
}

/** Formats like `string(x)`, including lists and maps. */
export function textOf(value: Value, run: Run): string | CelFailure {
  const spent = run.spend(1);
  if (spent) return spent;
  if (typeof value === "string") return run.spendText(value.length) ?? value;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Uint8Array) return run.makeText(value.length) ?? Buffer.from(value).toString("utf8");
  if (Array.isArray(value)) {
    const items = textsOf(value as readonly Value[], run);
    return items instanceof CelFailure ? items : joinParts("[", items, "]", run);
  }
  const map = value as Readonly<Record<string, Value>>;
  const entries: string[] = [];
  for (const key of mapKeys(map)) {
    const pair = textsOf([key, mapGet(map, key) as Value], run);
    if (pair instanceof CelFailure) return pair;
    entries.push(pair.join(": "));
  }
  return joinParts("{", entries.sort(), "}", run);
}

function textsOf(values: readonly Value[], run: Run): string[] | CelFailure {
  const texts: string[] = [];
  for (const value of values) {
    const text = textOf(value, run);
    if (text instanceof CelFailure) return text;
    texts.push(text);
  }
  return texts;
}

function joinParts(open: string, parts: readonly string[], close: string, run: Run): string | CelFailure {
  const length = parts.reduce((sum, part) => sum + part.length + 2, 2);
  return run.makeText(length) ?? `${open}${parts.join(", ")}${close}`;
}

function renderDecimal(value: Value): string | CelFailure {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint) return String(value.value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : failVerb("d", value);
}

function renderDigits(verb: "b" | "o", value: Value): string | CelFailure {
  if (verb === "b" && typeof value === "boolean") return value ? "1" : "0";
  const base = verb === "b" ? 2 : 8;
  if (typeof value === "bigint") return value.toString(base);
  return value instanceof Uint ? value.value.toString(base) : failVerb(verb, value);
}

function renderHexadecimal(value: Value, run: Run): string | CelFailure {
  if (typeof value === "bigint") return value.toString(16);
  if (value instanceof Uint) return value.value.toString(16);
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return failVerb("x", value);
  return run.makeText(value.length * 2) ?? Buffer.from(value as string).toString("hex");
}

function renderFixed(verb: "f" | "e", precision: number, value: Value, run: Run): string | CelFailure {
  const spent = run.spend(8);
  if (spent) return spent;
  if (typeof value !== "number") return failVerb(verb, value);
  if (precision > maxPrecision) return new CelFailure(`format gives at most ${maxPrecision} digits`);
  if (!Number.isFinite(value)) return String(value);
  if (verb === "e") return value.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2");
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${precision > 0 ? `.${"0".repeat(precision)}` : ""}`;
  return roundHalfToEven(value, precision);
}

/** Rounds halves to the even digit, as in Go. JavaScript rounds them up. */
function roundHalfToEven(value: number, precision: number): string {
  const rounded = value.toFixed(precision);
  const tail = value.toFixed(Math.min(100, precision + 30)).slice(-30);
  if (precision > 70 || !/^50*$/.test(tail)) return rounded;
  const truncated = value.toFixed(precision + 1).slice(0, precision === 0 ? -2 : -1);
  return Number(truncated.at(-1)) % 2 === 0 ? truncated : rounded;
}
