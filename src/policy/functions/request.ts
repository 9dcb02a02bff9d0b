/** Functions that read the message that a policy acts on. */
import { define, overload } from "../../cel/checking/declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/declarations.ts";
import { listOf, types } from "../../cel/checking/types.ts";
import type { Type } from "../../cel/checking/types.ts";
import type { Result, Run } from "../../cel/values/run.ts";
import type { HeaderFields } from "../../traffic/exchange.ts";
import type { PolicyContext } from "../language/context.ts";
import {
  cookieType,
  requestCookies,
  requestCookiesCost,
  responseCookies,
  responseCookiesCost,
} from "../variables/cookies.ts";
import type { Cookie } from "../language/cookies.ts";
import { queryCost, queryParams } from "../variables/message.ts";

const { string, bool } = types;
const strings = listOf(string);

/** Steps to find the fields of one name. */
const fieldCost = 4;

/** Returns a function of a name. It reads another message each time, so it is never evaluated at compile time. */
function reading(
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
  return define(name, overload(name, [string], result, evaluate, { isVolatile: true }));
}

const requestFields = ({ exchange }: PolicyContext): HeaderFields | undefined => exchange?.request.headers;
const responseFields = ({ response }: PolicyContext): HeaderFields | undefined => response?.headers;

function askedCookie(context: PolicyContext, name: string): Cookie | undefined {
  return requestCookies(context).byName.get(name)?.[0];
}

function givenCookie(context: PolicyContext, name: string): Cookie | undefined {
  return responseCookies(context).byName.get(name)?.[0];
}

function params(context: PolicyContext, name: string): Result {
  return queryParams(context).get(name) ?? [];
}

export const requestFunctions: readonly FunctionDeclaration[] = [
  reading("getReqHeader", strings, (context, name) => requestFields(context)?.getAll(name) ?? []),
  reading("hasReqHeader", bool, (context, name) => requestFields(context)?.has(name) ?? false),
  reading("getQueryParam", strings, params, queryCost),
  reading("hasQueryParam", bool, (context, name) => (params(context, name) as readonly string[]).length > 0, queryCost),
  reading("getReqCookie", cookieType, (context, name) => askedCookie(context, name) ?? {}, requestCookiesCost),
  reading("hasReqCookie", bool, (context, name) => askedCookie(context, name) !== undefined, requestCookiesCost),
];

export const responseFunctions: readonly FunctionDeclaration[] = [
  reading("getResHeader", strings, (context, name) => responseFields(context)?.getAll(name) ?? []),
  reading("hasResHeader", bool, (context, name) => responseFields(context)?.has(name) ?? false),
  reading("getResCookie", cookieType, (context, name) => givenCookie(context, name) ?? {}, responseCookiesCost),
  reading("hasResCookie", bool, (context, name) => givenCookie(context, name) !== undefined, responseCookiesCost),
];
