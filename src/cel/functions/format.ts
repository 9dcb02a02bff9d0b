/** `'%s is %d'.format([a, b])`: the verbs s d f e b o x X, and %% for a percent sign. */
import { Failure } from "../values/failure.ts";
import { mapGet, mapKeys } from "../values/map.ts";
import type { Result, Run } from "../values/run.ts";
import { durationText, timestampText } from "../values/time.ts";
import { Duration, kindOf, Timestamp, TypeValue, Uint } from "../values/values.ts";
import type { Value } from "../values/values.ts";

const clause = /%(?:(%)|(?:\.(\d{1,3}))?([a-zA-Z]?))/g;
/** Maximum number of digits after the point. */
const maxPrecision = 100;

/** Functions that create text charge the run before they create it. */
export function format(pattern: string, values: readonly Value[], run: Run): Result {
  let text = "";
  let from = 0;
  let next = 0;
  for (const found of pattern.matchAll(clause)) {
    const [all, percent, precision, verb] = found;
    let part: string | Failure = "%";
    if (percent === undefined) {
      if (next >= values.length) return new Failure(`format has ${values.length} values and wants more`);
      part = shown(verb ?? "", precision, values[next] as Value, run);
      next += 1;
    }
    if (part instanceof Failure) return part;
    text += pattern.slice(from, found.index) + part;
    from = found.index + all.length;
    const failed = text.length > run.limits.textLength ? run.makeText(text.length) : run.spendText(part.length);
    if (failed) return failed;
  }
  text += pattern.slice(from);
  return run.makeText(text.length) ?? text;
}

function shown(verb: string, precision: string | undefined, value: Value, run: Run): string | Failure {
  switch (verb) {
    case "s":
      return textOf(value, run);
    case "d":
      return decimal(value);
    case "f":
    case "e":
      return fixed(verb, Number(precision ?? 6), value, run);
    case "b":
    case "o":
      return digits(verb, value);
    case "x":
      return hexadecimal(value, run);
    case "X": {
      const lower = hexadecimal(value, run);
      return typeof lower === "string" ? lower.toUpperCase() : lower;
    }
    default:
      return new Failure(`format has no clause %${verb}`);
  }
}

function unfit(verb: string, value: Value): Failure {
  return new Failure(`%${verb} cannot show a value of type ${kindOf(value)}`);
}

/** Formats like `string(x)`, including lists and maps. */
export function textOf(value: Value, run: Run): string | Failure {
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
    return items instanceof Failure ? items : joined("[", items, "]", run);
  }
  const map = value as Readonly<Record<string, Value>>;
  const entries: string[] = [];
  for (const key of mapKeys(map)) {
    const pair = textsOf([key, mapGet(map, key) as Value], run);
    if (pair instanceof Failure) return pair;
    entries.push(pair.join(": "));
  }
  return joined("{", entries.sort(), "}", run);
}

function textsOf(values: readonly Value[], run: Run): string[] | Failure {
  const texts: string[] = [];
  for (const value of values) {
    const text = textOf(value, run);
    if (text instanceof Failure) return text;
    texts.push(text);
  }
  return texts;
}

function joined(open: string, parts: readonly string[], close: string, run: Run): string | Failure {
  const length = parts.reduce((sum, part) => sum + part.length + 2, 2);
  return run.makeText(length) ?? `${open}${parts.join(", ")}${close}`;
}

function decimal(value: Value): string | Failure {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint) return String(value.value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : unfit("d", value);
}

function digits(verb: "b" | "o", value: Value): string | Failure {
  if (verb === "b" && typeof value === "boolean") return value ? "1" : "0";
  const base = verb === "b" ? 2 : 8;
  if (typeof value === "bigint") return value.toString(base);
  return value instanceof Uint ? value.value.toString(base) : unfit(verb, value);
}

function hexadecimal(value: Value, run: Run): string | Failure {
  if (typeof value === "bigint") return value.toString(16);
  if (value instanceof Uint) return value.value.toString(16);
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return unfit("x", value);
  return run.makeText(value.length * 2) ?? Buffer.from(value as string).toString("hex");
}

function fixed(verb: "f" | "e", precision: number, value: Value, run: Run): string | Failure {
  const spent = run.spend(8);
  if (spent) return spent;
  if (typeof value !== "number") return unfit(verb, value);
  if (precision > maxPrecision) return new Failure(`format gives at most ${maxPrecision} digits`);
  if (!Number.isFinite(value)) return String(value);
  if (verb === "e") return value.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2");
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${precision > 0 ? `.${"0".repeat(precision)}` : ""}`;
  return evenly(value, precision);
}

/** Rounds halves to the even digit, as in Go. JavaScript rounds them up. */
function evenly(value: number, precision: number): string {
  const rounded = value.toFixed(precision);
  const tail = value.toFixed(Math.min(100, precision + 30)).slice(-30);
  if (precision > 70 || !/^50*$/.test(tail)) return rounded;
  const truncated = value.toFixed(precision + 1).slice(0, precision === 0 ? -2 : -1);
  return Number(truncated.at(-1)) % 2 === 0 ? truncated : rounded;
}
