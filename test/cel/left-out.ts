/**
 * Differences between our language and CEL: features that it omits, adds or rejects earlier. They affect exactly these
 * cases of the specification. The conformance test fails for any additional or missing case. The reference page lists
 * the reasons.
 */

export interface LeftOutSuite {
  readonly what: string;
  readonly reason: string;
  /** Number of cases without messages. */
  readonly cases: number;
}

const notDocumented = "not documented for traffic policies, so refused rather than guessed";

/** Whole suites of the conformance data. */
export const leftOutSuites: Readonly<Record<string, LeftOutSuite>> = {
  bindings_ext: { what: "`cel.bind`", reason: notDocumented, cases: 5 },
  block_ext: { what: "`cel.block`", reason: "what optimisers write, and no person", cases: 25 },
  encoders_ext: {
    what: "`base64.encode`, `base64.decode`",
    reason: "belong to the readers that have them: a policy declares its own",
    cases: 4,
  },
  enums: { what: "enumerations", reason: "belong to protobuf", cases: 24 },
  macros2: { what: "macros with two variables", reason: notDocumented, cases: 46 },
  math_ext: { what: "`math.…`", reason: notDocumented, cases: 199 },
  optionals: { what: "optional values: `a.?b`, `optional.of(a)`", reason: notDocumented, cases: 59 },
  proto2: { what: "protobuf messages", reason: "nothing that is read here is one", cases: 1 },
};

/** Cases of the core that cel-go's checker accepts and that fail in the evaluation. Our checker rejects them. */
export const refusedSooner: readonly string[] = [
  "timestamps/timestamp_range/from_string_under",
  "timestamps/timestamp_range/from_string_over",
  "timestamps/duration_range/from_string_under",
  "timestamps/duration_range/from_string_over",
  "timestamps/duration_range/add_under",
  "timestamps/duration_range/add_over",
  "timestamps/duration_range/sub_under",
  "timestamps/duration_range/sub_over",
];

/** Cases with correct values but different checking, because cel-go's data were generated with other settings. */
export const acceptedByConformance: readonly string[] = [
  "fields/quoted_map_fields/field_access_slash",
  "fields/quoted_map_fields/field_access_dash",
  "fields/quoted_map_fields/field_access_dot",
  "fields/quoted_map_fields/has_field_slash",
  "fields/quoted_map_fields/has_field_dash",
  "fields/quoted_map_fields/has_field_dot",
  "parse/nest/parens",
];

/** `format` checks its values in the evaluation. cel-go checks literal values earlier. */
export const refusedLater: readonly string[] = [
  "unrecognized formatting clause",
  "out of bounds arg index",
  "string substitution is not allowed with binary clause",
  "string substitution not allowed with octal clause",
  "double substitution not allowed with hex clause",
  "uppercase not allowed for scientific clause",
  "null not allowed for %d",
  "null not allowed for %e",
  "null not allowed for %f",
  "null not allowed for %x",
  "null not allowed for %X",
  "null not allowed for %b",
  "null not allowed for %o",
].map((name) => `string_ext/format_errors/${name}`);

/** Types with optional values. */
export const optionalTypes: readonly string[] = [
  "flexible_type_parameter_assignment/optional_none",
  "flexible_type_parameter_assignment/optional_none_2",
  "flexible_type_parameter_assignment/optional_dyn_promotion",
  "flexible_type_parameter_assignment/optional_dyn_promotion_2",
  "flexible_type_parameter_assignment/optional_in_ternary",
  "legacy_nullable_types/null_assignable_to_abstract_parameter_candidate",
].map((name) => `type_deductions/${name}`);

/** Cases of cel-go's parser that create messages. */
export const messagesParsed: readonly string[] = [
  "parsing/foo{ }",
  "parsing/foo{ a:b }",
  "parsing/foo{ a:b, c:d }",
  'parsing/SomeMessage{foo: 5, bar: "xyz"}',
  "parsing/TestAllTypes{single_int32: 1, single_int64: 2}",
];

/** Cases of cel-go's parser with stricter limits: its test sets the limits to 32, and disables names in backticks. */
export const acceptedByParsing: readonly string[] = [
  "parsing/[].existsOne(__result__, __result__)",
  "parsing/m.map(__result__, __result__)",
  "parsing/m.filter(__result__, false)",
  "parsing/[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[['not fine']]]]]]]]]]]]]]]]]]",
  "parsing/1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 +",
  "parsing/a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.A.B.C.D.",
  "parsing/a[1][2][3][4][5][6][7][8][9][10][11][12][13][14][15][16][17]",
  "parsing/a < 1 < 2 < 3 < 4 < 5 < 6 < 7 < 8 < 9 < 10 < 11 < 12 < 13 <",
  "parsing/a[1][2][3][4][5][6][7][8][9][10][11][12][13][14][15][16][17] (2)",
  "parsing/a.`b-c`",
  "parsing/a.`b c`",
  "parsing/a.`b.c`",
  "parsing/a.`/foo`",
  "parsing/a.`b-c` (2)",
  "parsing/a.`b.c` (2)",
  "parsing/a.`/foo` (2)",
];

/** Cases of cel-go's checker that create messages, or use their types as names or their enumerations. */
export const messagesChecked: readonly string[] = [
  "checking/TestAllTypes{single_int32: 1, single_int64: 2}",
  "checking/TestAllTypes.NestedEnum.BAR != 99",
  "checking/x.single_timestamp == google.protobuf.Timestamp{seconds: 20}",
  "checking/x.single_bool_wrapper == google.protobuf.BoolValue{value: tr",
  "checking/.google.expr.proto3.test.TestAllTypes",
  "checking/test.TestAllTypes",
  "checking/x == google.protobuf.Any{ type_url:'types.googleapis.com/goo",
  "checking/x == google.protobuf.Any{ type_url:'types.googleapis.com/goo (2)",
  "checking/TestAllTypes{}.repeated_nested_message",
  "checking/TestAllTypes{}.repeated_nested_message (2)",
];

/** Cases of cel-go's checker with optional values. */
export const optionalsChecked: readonly string[] = ["checking/a.b", "checking/a.dynamic", "checking/has(a.dynamic)"];
