/** Inputs for generated tests: inputs that the declarations accept, and inputs that the API must reject. */
import type { Field, Fields } from "../../src/schema/fields.ts";
import { exampleInput, exampleValue } from "../../src/api/operation/example-ids.ts";
import { maxShown } from "../../src/schema/issues.ts";
import { inputName } from "../../src/schema/doc.ts";

type Input = Readonly<Record<string, unknown>>;
type Direction = "create" | "update";

export interface BadInput {
  /** The fault, for the name of the test. */
  readonly what: string;
  readonly path: string;
  readonly body: Input;
}

/** A field of an input or of a nested object. */
interface FieldPlace {
  readonly name: string;
  readonly key: string;
  readonly field: Field;
  /** As in error messages. */
  readonly path: string;
  /** How to read the object around the field. Nested objects are read whole. */
  readonly direction: Direction;
  /** Value of the field in the good input, if any. */
  readonly present: unknown;
  put(value: unknown): Input;
  omit(): Input;
}

/** Returns one input for each way in which a field of `good`, or of its nested objects, can be wrong. */
export function badInputs(fields: Fields, direction: Direction, good: Input): BadInput[] {
  const bad: BadInput[] = [{ what: "an unknown field", path: "no_such_field", body: { ...good, no_such_field: 1 } }];
  for (const place of placesOf(fields, direction, good)) {
    const { field, path, name } = place;
    const variant = (what: string, value: unknown, at = ""): void => {
      bad.push({ what: `${path}: ${what}`, path: path + at, body: place.put(value) });
    };
    if (place.direction === "update" && field.immutable) {
      variant("a change of a fixed field", exampleValue(name, field));
      continue;
    }
    if (field.required && place.direction === "create") {
      bad.push({ what: `${path}: absence`, path, body: place.omit() });
      if (!field.nullable) variant("null", null);
    }
    for (const [what, value, at] of wrongValues(field)) variant(what, value, at);
  }
  return bad;
}

/** Returns inputs that refer to `idOf(kind)` in each place that accepts a reference. */
export function referringInputs(
  fields: Fields,
  direction: Direction,
  good: Input,
  idOf: (kind: string) => string,
): (BadInput & { readonly kind: string })[] {
  return [...placesOf(fields, direction, good)].flatMap((place) => {
    const { field, path, present } = place;
    const to = field.type === "map" ? field.keysTo : "to" in field ? field.to : undefined;
    const kind = to?.[0];
    if (kind === undefined || (place.direction === "update" && field.immutable)) return [];
    const id = idOf(kind);
    const body =
      field.type === "map"
        ? place.put({ ...(present as Input), [id]: 1 })
        : place.put(field.type === "refList" ? [...((present as unknown[]) ?? []), id] : id);
    return [{ what: path, path, body, kind }];
  });
}

function* placesOf(
  fields: Fields,
  direction: Direction,
  good: Input,
  at = "",
  wrap: (inner: Input) => Input = (inner) => inner,
): Generator<FieldPlace> {
  for (const [name, field] of Object.entries(fields)) {
    if (field.internal || field.live || field.readOnly) continue;
    const key = inputName(name, field);
    const path = at + key;
    const { [key]: present, ...rest } = good;
    const put = (value: unknown): Input => wrap({ ...good, [key]: value });
    yield { name, key, field, path, direction, present, put, omit: () => wrap(rest) };
    const inner = field.type === "list" ? field.of : field;
    if (inner.type !== "object" || (direction === "update" && field.immutable)) continue;
    const [first] = field.type === "list" ? ((present ?? field.example ?? []) as unknown[]) : [present];
    const base = (first ?? exampleInput(inner.fields, "create")) as Input;
    if (field.type === "list") yield* placesOf(inner.fields, "create", base, `${path}[0].`, (one) => put([one]));
    else yield* placesOf(inner.fields, "create", base, `${path}.`, put);
  }
}

type Wrong = readonly [what: string, value: unknown, at?: string];

/** Values that the field rejects, with the place of the fault in each. */
function wrongValues(field: Field): readonly Wrong[] {
  switch (field.type) {
    case "string":
      return [
        ["a number", 1],
        ["true", true],
        ["a list", ["x"]],
        ["an object", {}],
        ["more bytes than characters allow", "é".repeat(Math.floor(field.maxBytes / 2) + 1)],
        ...(field.required && !field.keepIfEmpty ? ([["nothing in it", ""]] as const) : []),
      ];
    case "boolean":
      return [
        ["a string", "true"],
        ["a number", 1],
        ["a list", [true]],
      ];
    case "integer":
    case "number":
      return [
        ["a string", "1"],
        ["true", true],
        ["a list", [field.min]],
        ["too much", field.max + 1],
        ["far too much", Number.MAX_VALUE],
        ["too little", field.min - 1],
        ...(field.type === "integer" ? ([["a fraction", field.min + 0.5]] as const) : []),
      ];
    case "oneOf": {
      const loud = field.values.find((value) => value !== "")?.toUpperCase();
      return [
        ["an unknown value", "no such value"],
        ...(loud && !field.values.includes(loud) ? ([["another case", loud]] as const) : []),
        ["a number", 1],
      ];
    }
    case "timestamp":
      return [
        ["no time", "yesterday"],
        ["an impossible day", "2026-02-31T25:00:00Z"],
        ["a number", 1],
      ];
    case "list":
      return [
        ...wrongLists(field.maxItems),
        ["null in it", [null], "[0]"],
        ...wrongValues({ ...field.of, required: true }).map(([what, value, at = ""]): Wrong => [
          `${what} in it`,
          [value],
          `[0]${at}`,
        ]),
        ...(field.unique ? ([["the same twice", twice(exampleValue("x", field.of)), "[1]"]] as const) : []),
      ];
    case "refList":
      return [
        ...wrongLists(field.maxItems),
        ["a number in it", [1], "[0]"],
        ["null in it", [null], "[0]"],
        ["an id that is too long in it", ["x".repeat(256)], "[0]"],
        ["the same twice", ["x", "x"], "[1]"],
        ...(field.minItems && !field.keepIfEmpty ? ([["nothing in it", []]] as const) : []),
      ];
    case "map": {
      const long = "k".repeat(field.key.maxBytes + 1);
      return [
        ["a list", ["x"]],
        ["a string", "x"],
        ["null in it", { a: null }, ".a"],
        ["a name that is too long", { [long]: exampleValue("x", field.of) }, `.${long.slice(0, maxShown)}`],
        ["too many", Object.fromEntries(Array.from({ length: field.maxItems + 1 }, (_, index) => [`a${index}`, "x"]))],
        ...wrongValues(field.of).map(([what, value, at = ""]): Wrong => [`${what} in it`, { a: value }, `.a${at}`]),
      ];
    }
    case "object":
      return [
        ["a string", "x"],
        ["a list", []],
        ["an unknown field inside", { no_such_field: 1 }, ".no_such_field"],
      ];
    case "ref":
      return [
        ["a number", 1],
        ["an object", { id: "x" }],
        ["an id that is too long", "x".repeat(256)],
      ];
    case "children":
      return [];
  }
}

function wrongLists(maxItems: number): readonly Wrong[] {
  return [
    ["an object", { a: 1 }],
    ["a string", "x"],
    ["too many", Array.from({ length: maxItems + 1 }, (_, index) => `x${index}`)],
  ];
}

function twice(value: unknown): unknown[] {
  return [value, value];
}
