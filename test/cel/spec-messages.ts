/** Declarations that the checking cases assume. cel-go's test defines them, but the data do not. */
import { define, member, overload } from "../../src/cel/checking/declarations.ts";
import type { FunctionDeclaration } from "../../src/cel/checking/declarations.ts";
import { listOf, mapOf, nullable, objectType, types } from "../../src/cel/checking/types.ts";
import type { Type } from "../../src/cel/checking/types.ts";

const { int, dyn, string, bool, bytes, double, uint, timestamp, duration } = types;

/** Returns the fields of the test messages that the cases read, as an object type. */
function testMessage(name: string): Type {
  const nested = objectType(`${name}.NestedMessage`, { bb: int });
  return objectType(name, {
    single_int32: int,
    single_int64: int,
    single_value: dyn,
    single_struct: mapOf(string, dyn),
    single_timestamp: timestamp,
    single_duration: duration,
    single_nested_message: nested,
    repeated_int32: listOf(int),
    repeated_int64: listOf(int),
    map_string_string: mapOf(string, string),
    map_int64_nested_type: mapOf(int, objectType(name.replace(/TestAllTypes$/, "NestedTestAllTypes"), {})),
    nestedgroup: objectType(`${name}.NestedGroup`, { nested_id: int }),
    single_bool_wrapper: nullable(bool),
    single_bytes_wrapper: nullable(bytes),
    single_double_wrapper: nullable(double),
    single_float_wrapper: nullable(double),
    single_int32_wrapper: nullable(int),
    single_int64_wrapper: nullable(int),
    single_string_wrapper: nullable(string),
    single_uint32_wrapper: nullable(uint),
    single_uint64_wrapper: nullable(uint),
  });
}

const known: Readonly<Record<string, Type>> = {
  "google.protobuf.Struct": mapOf(string, dyn),
  "google.protobuf.ListValue": listOf(dyn),
  "google.protobuf.Value": dyn,
  "google.protobuf.Int32Value": nullable(int),
};

export function messageType(name: string): Type {
  return known[name] ?? testMessage(name);
}

/** The default environment of cel-go's checker tests. */
export const defaultNames: Readonly<Record<string, Type>> = {
  is: string,
  ii: int,
  iu: uint,
  iz: bool,
  ib: bytes,
  id: double,
  ix: types.null,
};

export const defaultFunctions: readonly FunctionDeclaration[] = [
  define(
    "fg_s",
    overload("fg_s_0", [], string, () => ""),
  ),
  define(
    "fi_s_s",
    member("fi_s_s_0", [string], string, (text: string) => text),
  ),
];
