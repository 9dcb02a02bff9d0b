/** Declarations that the checking cases assume. cel-go's test defines them, but the data do not. */
import { defineFunction, defineMember, defineOverload } from "../../src/cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../src/cel/checking/function-declarations.ts";
import { listOf, mapOf, nullableType, objectType, types } from "../../src/cel/checking/cel-types.ts";
import type { Type } from "../../src/cel/checking/cel-types.ts";

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
    single_bool_wrapper: nullableType(bool),
    single_bytes_wrapper: nullableType(bytes),
    single_double_wrapper: nullableType(double),
    single_float_wrapper: nullableType(double),
    single_int32_wrapper: nullableType(int),
    single_int64_wrapper: nullableType(int),
    single_string_wrapper: nullableType(string),
    single_uint32_wrapper: nullableType(uint),
    single_uint64_wrapper: nullableType(uint),
  });
}

const known: Readonly<Record<string, Type>> = {
  "google.protobuf.Struct": mapOf(string, dyn),
  "google.protobuf.ListValue": listOf(dyn),
  "google.protobuf.Value": dyn,
  "google.protobuf.Int32Value": nullableType(int),
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
  defineFunction(
    "fg_s",
    defineOverload("fg_s_0", [], string, () => ""),
  ),
  defineFunction(
    "fi_s_s",
    defineMember("fi_s_s_0", [string], string, (text: string) => text),
  ),
];
