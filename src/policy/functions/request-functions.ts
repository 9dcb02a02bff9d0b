/** Functions that read the message that a policy acts on. */
import { defineFunction, defineOverload } from "../../cel/checking/function-declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/function-declarations.ts";
import { listOf, types } from "../../cel/checking/cel-types.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import type { Result, Run } from "../../cel/values/budget.ts";
import type { HeaderFields } from "../../traffic/header-fields.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import {
  cookieType,
  requestCookies,
  requestCookiesCost,
  responseCookies,
  responseCookiesCost,
} from "../variables/cookie-variables.ts";
import type { Cookie } from "../language/cookie-set.ts";
import { queryCost, queryParams } from "../variables/policy-message-variables.ts";

const { string, bool } = types;
const strings = listOf(string);

/** Steps to find the fields of one name. */
const fieldCost = 4;

/** Returns a function of a name. It reads another message each time, so it is never evaluated at compile time. */
function declareReading(
  name: string,
  result: Type,
  read: (context: PolicyContext, name: string) => Result,
  cost: (context: PolicyContext) => number = () => 0,
): FunctionDeclaration {
  const evaluate = (wanted: string, run: Run): Result => {
    const context = run.activation as PolicyContext;
    const steps = fieldCost + cost(context) + (wanted.length > 64 ? wanted.length >> 6 : 0);
    return run.spend(steps) ?? read(context, wanted);
  };
  return defineFunction(name, defineOverload(name, [string], result, evaluate, { isVolatile: true }));
}

const requestFields = ({ exchange }: PolicyContext): HeaderFields | undefined => exchange?.request.headers;
const responseFields = ({ response }: PolicyContext): HeaderFields | undefined => response?.headers;

function readRequestCookie(context: PolicyContext, name: string): Cookie | undefined {
  return requestCookies(context).byName.get(name)?.[0];
}

function readResponseCookie(context: PolicyContext, name: string): Cookie | undefined {
  return responseCookies(context).byName.get(name)?.[0];
}

function readParams(context: PolicyContext, name: string): Result {
  return queryParams(context).get(name) ?? [];
}

export const requestFunctions: readonly FunctionDeclaration[] = [
  declareReading("getReqHeader", strings, (context, name) => requestFields(context)?.getAll(name) ?? []),
  declareReading("hasReqHeader", bool, (context, name) => requestFields(context)?.has(name) ?? false),
  declareReading("getQueryParam", strings, readParams, queryCost),
  declareReading(
    "hasQueryParam",
    bool,
    (context, name) => (readParams(context, name) as readonly string[]).length > 0,
    queryCost,
  ),
  declareReading(
    "getReqCookie",
    cookieType,
    (context, name) => readRequestCookie(context, name) ?? {},
    requestCookiesCost,
  ),
  declareReading(
    "hasReqCookie",
    bool,
    (context, name) => readRequestCookie(context, name) !== undefined,
    requestCookiesCost,
  ),
];

export const responseFunctions: readonly FunctionDeclaration[] = [
  declareReading("getResHeader", strings, (context, name) => responseFields(context)?.getAll(name) ?? []),
  declareReading("hasResHeader", bool, (context, name) => responseFields(context)?.has(name) ?? false),
  declareReading(
    "getResCookie",
    cookieType,
    (context, name) => readResponseCookie(context, name) ?? {},
    responseCookiesCost,
  ),
  declareReading(
    "hasResCookie",
    bool,
    (context, name) => readResponseCookie(context, name) !== undefined,
    responseCookiesCost,
  ),
];
