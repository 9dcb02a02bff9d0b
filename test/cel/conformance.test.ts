/**
 * Compares the language with CEL's own data (npm `@bufbuild/cel-spec`): values, trees and types. The core is the
 * fourteen suites of the language itself, without the cases that use protobuf messages: 1076 cases.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listFunctions } from "../../src/cel/functions/list-functions.ts";
import { standardFunctions } from "../../src/cel/functions/standard.ts";
import { stringFunctions } from "../../src/cel/functions/strings.ts";
import {
  acceptedByConformance,
  acceptedByParsing,
  leftOutSuites,
  messagesChecked,
  messagesParsed,
  optionalsChecked,
  optionalTypes,
  refusedLater,
  refusedSooner,
} from "./left-out.ts";
import {
  checkingCases,
  coreCases,
  messageCases,
  otherCases,
  parsingCases,
  stringCases,
  typeCases,
} from "./spec-cases.ts";
import type { SpecCase } from "./spec-cases.ts";
import { defaultFunctions, defaultNames } from "./spec-messages.ts";
import { checkDifference, differenceOf, parseDifference } from "./spec-run.ts";

const functions = [...standardFunctions, ...stringFunctions, ...listFunctions];
const checkFunctions = [...functions, ...defaultFunctions];

/** Checks that exactly the named cases differ. */
function differing(
  cases: readonly SpecCase[],
  difference: (one: SpecCase) => string | undefined,
  expected: readonly string[],
): void {
  const found = cases.map((one) => [one.name, difference(one)] as const).filter(([, what]) => what !== undefined);
  const unexpected = found.filter(([name]) => !expected.includes(name));
  assert.deepEqual(unexpected, [], "these differ and are not listed");
  const agreeing = expected.filter((name) => !found.some(([one]) => one === name));
  assert.deepEqual(agreeing, [], "these are listed and do not differ");
}

const checked = (one: SpecCase): string | undefined => checkDifference(one, checkFunctions, defaultNames);

describe("the expression language", () => {
  it("the expression language evaluates all 1076 cases of the core as in CEL's specification", () => {
    assert.equal(coreCases.length, 1076);
    differing(coreCases, (one) => differenceOf(one, functions), []);
  });

  it("the expression language evaluates all 205 cases of the string extension as in the specification", () => {
    assert.equal(stringCases.length, 205);
    differing(stringCases, (one) => differenceOf(one, functions), []);
  });

  it("the expression language parses the core, the string extension and the type deductions into cel-go's trees", () => {
    const withTree = [...coreCases, ...stringCases, ...typeCases].filter(({ ast }) => ast !== undefined);
    assert.equal(withTree.length, 1300);
    differing(withTree, parseDifference, []);
  });

  it("the expression language finds cel-go's types and overloads in the core", () => {
    differing(coreCases, checked, [...refusedSooner, ...acceptedByConformance]);
  });

  it("the expression language finds cel-go's types and overloads in the string extension", () => {
    differing(stringCases, checked, refusedLater);
  });

  it("the expression language finds the types of the 26 type deductions, except for optional values", () => {
    assert.equal(typeCases.length, 26);
    differing(typeCases, checked, optionalTypes);
  });

  it("the expression language parses and rejects the 194 cases of cel-go's parser like cel-go, except for messages and other limits", () => {
    assert.equal(parsingCases.length, 194);
    differing(parsingCases, parseDifference, [...messagesParsed, ...acceptedByParsing]);
  });

  it("the expression language checks and rejects the 135 cases of cel-go's checker like cel-go, except for messages and optional values", () => {
    assert.equal(checkingCases.length, 135);
    differing(checkingCases, checked, [...messagesChecked, ...optionalsChecked]);
  });

  it("the expression language omits whole suites, and none of their cases produces a value", () => {
    const counted = Array.from(otherCases, ([suite, cases]) => [suite, cases.length] as const);
    const listed = Object.entries(leftOutSuites).map(([suite, { cases }]) => [suite, cases] as const);
    assert.deepEqual(Object.fromEntries(counted), Object.fromEntries(listed));
    const cases = [...otherCases.values()].flat();
    const given = cases.filter((one) => one.original["evalError"] === undefined);
    assert.deepEqual(
      given.filter((one) => differenceOf(one, functions) === undefined).map(({ name }) => name),
      [],
    );
  });

  it("the expression language accounts for each of the 2344 conformance cases", () => {
    const others = [...otherCases.values()].flat().length;
    const messages = [...messageCases.values()].flat().length;
    assert.deepEqual([others, messages], [363, 674]);
    assert.equal(coreCases.length + stringCases.length + typeCases.length + others + messages, 2344);
  });
});
