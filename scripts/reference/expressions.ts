import { typeText } from "../../src/cel/checking/types.ts";
import type { FunctionDeclaration, Overload } from "../../src/cel/checking/declarations.ts";
import { listFunctions } from "../../src/cel/functions/lists.ts";
import { standardFunctions } from "../../src/cel/functions/standard.ts";
import { stringFunctions } from "../../src/cel/functions/strings.ts";
import { defaultLimits } from "../../src/cel/values/limits.ts";
import { acceptedByConformance, leftOutSuites, refusedLater, refusedSooner } from "../../test/cel/left-out.ts";
import { code, page, table } from "./markdown.ts";

/** What each function does; every one that is declared has to have a line. */
const docs: Readonly<Record<string, string>> = {
  "_+_": "Sum; texts, bytes and lists one after the other; a time later by a duration.",
  "_-_": "Difference, also of times.",
  "_*_": "Product.",
  "_/_": "Quotient; of whole numbers without the rest.",
  "_%_": "The rest, with the sign of what is divided.",
  "-_": "The number below zero.",
  "!_": "Not.",
  "_==_": "Equal, whatever the kinds: `1 == dyn(1.0)`, and lists and maps item by item.",
  "_!=_": "Not equal.",
  "_<_": "Below; texts by their characters, false before true.",
  "_<=_": "Below or equal.",
  "_>_": "Above.",
  "_>=_": "Above or equal.",
  "_?_:_": "The second when the first is true, else the third.",
  "_[_]": "The item of a list, from 0; the value under a key. What is not there is a failure.",
  "@in": "Whether a list has the item, or a map the key.",
  "@has": "`has(a['b'])`: whether the key, or the item, is there.",
  int: "A whole number of 64 bits; of a double towards zero, of a timestamp the seconds since 1970.",
  uint: "The same from 0.",
  double: "A number with a fraction.",
  bool: "Of `1 t true TRUE True` and `0 f false FALSE False`.",
  bytes: "UTF-8 of a text.",
  string: "A text; of a timestamp RFC 3339, of a duration `90s`.",
  timestamp: "Of RFC 3339, or of seconds since 1970; in the years 1 to 9999.",
  duration: "Of `90s`, `1h30m`, `1.5ms`, or of nanoseconds.",
  dyn: "The same value, whose type is not checked before it is evaluated.",
  type: "The type, as in `type(a) == int`.",
  size: "Characters of a text, bytes, items or keys.",
  contains: "Whether a text has a part.",
  startsWith: "Whether a text begins with a part.",
  endsWith: "Whether a text ends with a part.",
  matches: "Whether a regular expression (RE2) is found anywhere in a text; `^` and `$` bind it to the ends.",
  getFullYear: "The year, in UTC or in a time zone as `Europe/Berlin` or `+02:00`.",
  getMonth: "The month, from 0.",
  getDayOfYear: "The day of the year, from 0.",
  getDayOfMonth: "The day of the month, from 0.",
  getDate: "The day of the month, from 1.",
  getDayOfWeek: "The day of the week, from 0 for Sunday.",
  getHours: "The hour; of a duration all of them.",
  getMinutes: "The minute; of a duration all of them.",
  getSeconds: "The second; of a duration all of them.",
  getMilliseconds: "The thousandth of a second; of a duration all of them.",
  charAt: "One character; at the end an empty text.",
  indexOf: "Where a part first is, -1 when it is not there.",
  lastIndexOf: "Where a part last is, -1 when it is not there.",
  substring: "The part from a character up to another, or to the end.",
  replace: "The text with a part replaced, everywhere or as often as said.",
  split: "The parts between separators; with a number, at most so many, the last with the rest.",
  join: "The texts of a list, one after the other.",
  trim: "Without white space at the ends.",
  reverse: "Backwards.",
  lowerAscii: "A to Z as a to z.",
  upperAscii: "a to z as A to Z.",
  "strings.quote": "As a literal that stands for the text.",
  format:
    "`'%s is %d'.format([a, b])`: %s any value, %d a number, %f and %e a double with %.2f digits, %b %o %x %X in other bases, %% a percent sign.",
  slice: "The items from one up to another.",
  flatten: "Lists inside a list as its items, one level deep or as deep as said.",
  sort: "The items in order.",
  distinct: "Each item once.",
  "lists.range": "The numbers from 0 up to one.",
};

const macros: readonly (readonly [string, string])[] = [
  ["has(a.b)", "Whether there is a field, or key; of a declared name, whether it is known."],
  ["list.all(x, condition)", "Whether the condition holds for every item; of a map, for every key."],
  ["list.exists(x, condition)", "Whether it holds for one at least."],
  ["list.exists_one(x, condition)", "Whether it holds for exactly one."],
  ["list.filter(x, condition)", "The items for which it holds."],
  ["list.map(x, value)", "The value for each item."],
  ["list.map(x, condition, value)", "The value for each item for which the condition holds."],
  ["list.sortBy(x, value)", "The items, in the order of the values."],
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
    return [[...new Set(shown.map((one) => code(signatureOf(name, one))))].join("<br>"), doc];
  });
  return table(["Form", "What it gives"], rows);
}

export function expressionsPage(): string {
  const { depth, nodes, sourceLength, steps, textLength, items } = defaultLimits;
  const isOperator = ({ name }: FunctionDeclaration): boolean => !/^[a-z]/i.test(name);
  const introduction =
    "Conditions and values are written in CEL, the Common Expression Language. The `filter` of a list is one: `obj` is the object, with the fields that clients see. Which names and functions an expression may mention depends on where it stands; the language is the same.";
  const limits: readonly (readonly [string, string])[] = [
    ["Characters", String(sourceLength)],
    ["Parts inside each other, brackets counted", String(depth)],
    ["Parts in all", String(nodes)],
    [
      "Steps: a call, an item of a loop, 64 characters read or made (more where that takes longer: 6 for a regular expression)",
      String(steps),
    ],
    ["Characters of a text that is made", String(textLength)],
    ["Items of a list that is made", String(items)],
    ["Characters of a regular expression", "1024"],
  ];
  const leftOut = Object.values(leftOutSuites).map(({ what, reason, cases }) => [what, reason, String(cases)]);
  return page("Expressions", introduction, [
    "## Values\n\n",
    "`true`, `false`, `null`; `1`, `-1`, `0x1f` are of type int, `1u` uint, `1.5` and `1e3` double; `'text'` or `\"text\"`, with `\\n`, `\\u00e9` and the like, over several lines between three quotes, and as it stands after `r`: `r'\\d+'`; bytes `b'\\xff'`; `[1, 2]`; `{'key': 'value'}`. `//` begins a comment.\n\n",
    "Numbers are not made to fit: a whole number beyond 64 bits is a failure. Positions and sizes of texts count characters, not bytes.\n\n",
    "## What is checked before\n\n",
    "Names, functions and types are checked when an expression is stored or sent. What is wrong is answered with line, column and what was probably meant. What comes from JSON has any type (`dyn`) and is looked at when it is evaluated; a literal regular expression, time or duration is looked at before.\n\n",
    "## When it fails\n\n",
    "A key or item that is not there, a division by zero, a number that does not fit, a bound that is exceeded: the expression has no value then. `&&`, `||`, `all` and `exists` overlook a failure when the rest decides: `headers['x'][0] == '1' || true` is true. A bound is never overlooked. Fields with a declared type do not fail: what is absent is `\"\"`, `0`, `false`, an empty list; `has()` tells.\n\n",
    "In the `filter` of a list, what is null or absent makes a comparison false, `!` of it is true, numbers compare whatever their kinds, and an object on which the expression fails is left out.\n\n",
    "## Operators\n\n",
    "From the loosest: `? :`, `||`, `&&`, comparisons and `in`, `+ -`, `* / %`, `! -`, then `.` and `[]`. `A` and `B` stand for any type, the same throughout a line.\n\n",
    table(
      ["Form", "What it gives"],
      [["`a && b`, `a || b`", "And, or; what the first decides, the second is not asked for."]],
    ),
    functionsTable(standardFunctions.filter(isOperator)),
    "## Macros\n\n",
    table(
      ["Form", "What it gives"],
      macros.map(([form, doc]) => [code(form), doc]),
    ),
    "## Functions\n\n",
    functionsTable(standardFunctions.filter((one) => !isOperator(one))),
    "### Of texts and lists\n\n",
    functionsTable([...stringFunctions, ...listFunctions]),
    "## Bounds\n\n",
    "What is exceeded when it is read is refused; what is exceeded when it is evaluated is a failure. The filter of a list has 1000 characters, 100 parts, and 500 steps for each object, 10,000 for one that has others inside, such as an edge its routes: `obj.routes.exists(route, route.oidc != null)`.\n\n",
    table(
      ["What", "At most"],
      limits.map(([what, most]) => [what, most]),
    ),
    "## What is left out of CEL\n\n",
    "Held against CEL's conformance data (cel-spec 0.25.1): of the core without protobuf's messages all 1076 cases agree, of the string extension all 205. The data has 674 cases with protobuf's messages. What else it has and we have not:\n\n",
    table(["What", "Why", "Cases"], leftOut),
    `Refused sooner than there: literal times out of range (${refusedSooner.length} cases), which fail there when they are evaluated. Refused later: what \`format\` cannot show (${refusedLater.length} cases), which is looked at when it is evaluated. Beyond the specification: \`has(a['b'])\`. Names in backticks after a dot, and 64 brackets instead of 32, are in the specification and not in the settings that cel-go's data was made with (${acceptedByConformance.length} cases).\n`,
  ]);
}
