import { typeText } from "../../src/cel/checking/cel-types.ts";
import type { FunctionDeclaration, Overload } from "../../src/cel/checking/function-declarations.ts";
import { listFunctions } from "../../src/cel/functions/list-functions.ts";
import { standardFunctions } from "../../src/cel/functions/standard.ts";
import { stringFunctions } from "../../src/cel/functions/strings.ts";
import { defaultLimits } from "../../src/cel/values/cel-limits.ts";
import { acceptedByConformance, leftOutSuites, refusedLater, refusedSooner } from "../../test/cel/left-out.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";

/** Description of each function. Every declared function must have one. */
const docs: Readonly<Record<string, string>> = {
  "_+_": "Sum; joins texts, bytes and lists; adds a duration to a time.",
  "_-_": "Difference, also of times.",
  "_*_": "Product.",
  "_/_": "Quotient; for whole numbers without the remainder.",
  "_%_": "The remainder, with the sign of the dividend.",
  "-_": "The negated number.",
  "!_": "Not.",
  "_==_": "Equal, for values of any numeric type: `1 == dyn(1.0)`. Lists and maps are compared item by item.",
  "_!=_": "Not equal.",
  "_<_": "Less than; texts are compared by characters, and false is less than true.",
  "_<=_": "Less than or equal.",
  "_>_": "Above.",
  "_>=_": "Greater than.",
  "_?_:_": "The second value if the first is true, else the third.",
  "_[_]": "The item of a list, from 0, or the value of a key. A missing item or key is a failure.",
  "@in": "Whether a list contains the item, or a map the key.",
  "@has": "`has(a['b'])`: whether the key or item exists.",
  int: "A whole number of 64 bits; rounds a double towards zero; returns the seconds since 1970 of a timestamp.",
  uint: "The same, from 0.",
  double: "A number with a fraction.",
  bool: "From `1 t true TRUE True` and `0 f false FALSE False`.",
  bytes: "UTF-8 of a text.",
  string: "A text; of a timestamp RFC 3339, of a duration `90s`.",
  timestamp: "From RFC 3339, or from seconds since 1970; in the years 1 to 9999.",
  duration: "From `90s`, `1h30m`, `1.5ms`, or from nanoseconds.",
  dyn: "The same value, without a type check before evaluation.",
  type: "The type, as in `type(a) == int`.",
  size: "Number of characters of a text, bytes, items or keys.",
  contains: "Whether a text contains a part.",
  startsWith: "Whether a text begins with a part.",
  endsWith: "Whether a text ends with a part.",
  matches: "Whether a regular expression (RE2) matches anywhere in a text; `^` and `$` match the start and end.",
  getFullYear: "The year, in UTC or in a time zone as `Europe/Berlin` or `+02:00`.",
  getMonth: "The month, from 0.",
  getDayOfYear: "The day of the year, from 0.",
  getDayOfMonth: "The day of the month, from 0.",
  getDate: "The day of the month, from 1.",
  getDayOfWeek: "The day of the week, from 0 for Sunday.",
  getHours: "The hour; for a duration the total hours.",
  getMinutes: "The minute; for a duration the total minutes.",
  getSeconds: "The second; for a duration the total seconds.",
  getMilliseconds: "The millisecond; for a duration the total milliseconds.",
  charAt: "One character; an empty text at the end.",
  indexOf: "First position of a part, -1 if the text does not contain the part.",
  lastIndexOf: "Last position of a part, -1 if the text does not contain the part.",
  substring: "The characters from one position to another, or to the end.",
  replace: "The text with a part replaced, everywhere or a maximum number of times.",
  split: "The parts between separators; with a number, at most so many parts, and the last has the rest.",
  join: "The joined texts of a list.",
  trim: "The text without white space at both ends.",
  reverse: "Backwards.",
  lowerAscii: "The text with A to Z in lower case.",
  upperAscii: "The text with a to z in upper case.",
  "strings.quote": "The text as a literal.",
  format:
    "`'%s is %d'.format([a, b])`: %s any value, %d a number, %f and %e a double with %.2f digits, %b %o %x %X in other bases, %% a percent sign.",
  slice: "The items from one position to another.",
  flatten: "Nested lists flattened, by one level or the given depth.",
  sort: "The sorted items.",
  distinct: "The items without duplicates.",
  "lists.range": "The numbers from 0 to one less than the argument.",
};

const macros: readonly (readonly [string, string])[] = [
  ["has(a.b)", "Whether a field or key exists; for a declared name, whether the value is known."],
  ["list.all(x, condition)", "Whether the condition is true for every item, or every key of a map."],
  ["list.exists(x, condition)", "Whether the condition is true for at least one item."],
  ["list.exists_one(x, condition)", "Whether the condition is true for exactly one item."],
  ["list.filter(x, condition)", "The items for which the condition is true."],
  ["list.map(x, value)", "The value for each item."],
  ["list.map(x, condition, value)", "The value for each item for which the condition is true."],
  ["list.sortBy(x, value)", "The items, sorted by the values."],
];

function signatureOf(name: string, { isMember, parameters, result }: Overload): string {
  const kinds = parameters.map(typeText);
  const call = isMember ? `${kinds[0]}.${name}(${kinds.slice(1).join(", ")})` : `${name}(${kinds.join(", ")})`;
  const operator = /^_?([^_@]+)_$/.exec(name)?.[1];
  if (name === "@has") return "has(a['b'])";
  if (name === "_[_]") return `${kinds[0]}[${kinds[1]}] → ${typeText(result)}`;
  if (name === "_?_:_") return `${kinds[0]} ? ${kinds[1]} : ${kinds[2]} → ${typeText(result)}`;
  if (name === "@in") return `${kinds[0]} in ${kinds[1]} → bool`;
  if (operator !== undefined && kinds.length === 1) return `${operator}${kinds[0]} → ${typeText(result)}`;
  if (operator !== undefined) return `${kinds[0]} ${operator} ${kinds[1]} → ${typeText(result)}`;
  return `${call} → ${typeText(result)}`;
}

function functionsTable(functions: readonly FunctionDeclaration[]): string {
  const rows = functions.map(({ name, overloads }) => {
    const doc = docs[name];
    if (doc === undefined) throw new Error(`${name} has no line in scripts/reference/expressions.ts`);
    const shown = overloads.filter(({ mixesNumbers }) => mixesNumbers !== true);
    return [[...new Set(shown.map((one) => toCode(signatureOf(name, one))))].join("<br>"), doc];
  });
  return renderTable(["Form", "Result"], rows);
}

export function expressionsPage(): string {
  const { depth, nodes, sourceLength, steps, textLength, items } = defaultLimits;
  const isOperator = ({ name }: FunctionDeclaration): boolean => !/^[a-z]/i.test(name);
  const introduction =
    "Conditions and values use CEL, the Common Expression Language. The `filter` of a list is one example: `obj` is the object, with its fields in the API. The available names and functions depend on the place; the language is the same.";
  const limits: readonly (readonly [string, string])[] = [
    ["Characters", String(sourceLength)],
    ["Nesting depth, including brackets", String(depth)],
    ["Parts in total", String(nodes)],
    [
      "Steps: a call, a loop item, or 64 characters read or created (more for expensive operations: 6 for a regular expression)",
      String(steps),
    ],
    ["Characters of a created text", String(textLength)],
    ["Items of a created list", String(items)],
    ["Characters of a regular expression", "1024"],
  ];
  const leftOut = Object.values(leftOutSuites).map(({ what, reason, cases }) => [what, reason, String(cases)]);
  return renderPage("Expressions", introduction, [
    "## Values\n\n",
    "`true`, `false`, `null`; `1`, `-1`, `0x1f` are of type int, `1u` uint, `1.5` and `1e3` double; `'text'` or `\"text\"`, with `\\n`, `\\u00e9` and the like, over several lines between three quotes, and as it stands after `r`: `r'\\d+'`; bytes `b'\\xff'`; `[1, 2]`; `{'key': 'value'}`. `//` begins a comment.\n\n",
    "Numbers are never truncated: a whole number beyond 64 bits is a failure. Positions and sizes of texts count characters, not bytes.\n\n",
    "## Checks before evaluation\n\n",
    "Postern checks names, functions and types when you store or send an expression. An error names the line, the column and a suggestion. Values from JSON have any type (`dyn`) and are checked during evaluation. Literal regular expressions, times and durations are checked before.\n\n",
    "## Failures\n\n",
    "An expression fails, and has no value, for a missing key or item, a division by zero, a number that does not fit, or an exceeded limit. `&&`, `||`, `all` and `exists` ignore a failure if the rest decides: `headers['x'][0] == '1' || true` is true. An exceeded limit is never ignored. Fields with a declared type do not fail: an absent field is `\"\"`, `0`, `false` or an empty list. Use `has()` to check.\n\n",
    "In the `filter` of a list, a comparison with null or an absent value is false, and `!` of it is true. Numbers compare regardless of their type. An object is left out if the expression fails for it.\n\n",
    "## Operators\n\n",
    "From lowest to highest precedence: `? :`, `||`, `&&`, comparisons and `in`, `+ -`, `* / %`, `! -`, then `.` and `[]`. `A` and `B` stand for any type, the same within a line.\n\n",
    renderTable(
      ["Form", "Result"],
      [["`a && b`, `a || b`", "And, or. The second operand is not evaluated if the first decides."]],
    ),
    functionsTable(standardFunctions.filter(isOperator)),
    "## Macros\n\n",
    renderTable(
      ["Form", "Result"],
      macros.map(([form, doc]) => [toCode(form), doc]),
    ),
    "## Functions\n\n",
    functionsTable(standardFunctions.filter((one) => !isOperator(one))),
    "### Texts and lists\n\n",
    functionsTable([...stringFunctions, ...listFunctions]),
    "## Bounds\n\n",
    "An expression that exceeds a limit during parsing is rejected. Exceeding a limit during evaluation is a failure. The filter of a list can have 1000 characters, 100 parts, and 500 steps for each object. The limit is 10,000 steps for objects that contain others, such as an edge with its routes: `obj.routes.exists(route, route.oidc != null)`.\n\n",
    renderTable(
      ["What", "At most"],
      limits.map(([what, most]) => [what, most]),
    ),
    "## Differences from CEL\n\n",
    "Compared with CEL's conformance data (cel-spec 0.25.1), all 1076 cases of the core without protobuf messages agree, and all 205 cases of the string extension. The data has 674 cases with protobuf messages. These features of CEL are not supported:\n\n",
    renderTable(["What", "Why", "Cases"], leftOut),
    `Rejected earlier: literal times out of range (${refusedSooner.length} cases), which fail in CEL only during evaluation. Rejected later: values that \`format\` cannot show (${refusedLater.length} cases), which are checked during evaluation. Beyond the specification: \`has(a['b'])\`. Names in backticks after a dot, and 64 brackets instead of 32, are in the specification, but not in the settings that cel-go's data was made with (${acceptedByConformance.length} cases).\n`,
  ]);
}
