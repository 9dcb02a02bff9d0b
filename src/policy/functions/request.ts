/** Functions that read the message that a policy acts on. */
import { define, overload } from "../../cel/checking/declarations.ts";
import type { FunctionDeclaration } from "../../cel/checking/declarations.ts";
import { listOf, types } from "../../cel/checking/types.ts";
import type { Type } from "../../cel/checking/types.ts";
import type { Result, Run } from "../../cel/values/run.ts";
import type { HeaderFields } from "../../traffic/exchange.ts";
import type { PolicyContext } from "../language/context.ts";
import { cookieType, requestCookies, responseCookies } from "../variables/cookies.ts";
import type { Cookie } from "../variables/cookies.ts";
import { queryParams } from "../variables/message.ts";

const { string, bool } = types;
const strings = listOf(string);

/** A function of a name. What it reads is another message each time, so nothing of it is evaluated before. */
function reading(
  name: string,
  result: Type,
  read: (context: PolicyContext, name: string) => Result,
): FunctionDeclaration {
  const evaluate = (wanted: string, run: Run): Result => run.spend(4) ?? read(run.activation as PolicyContext, wanted);
  return define(name, overload(name, [string], result, evaluate, { isVolatile: true }));
}

const requestFields = ({ exchange }: PolicyContext): HeaderFields | undefined => exchange?.request.headers;
const responseFields = ({ response }: PolicyContext): HeaderFields | undefined => response?.headers;
const named = (cookies: readonly Cookie[], name: string): Cookie | undefined =>
  cookies.find((cookie) => cookie["name"] === name);

function cookiesOfRequest(context: PolicyContext): readonly Cookie[] {
  const fields = requestFields(context);
  return fields ? requestCookies(fields) : [];
}

function cookiesOfResponse(context: PolicyContext): readonly Cookie[] {
  const fields = responseFields(context);
  return fields ? responseCookies(fields) : [];
}

function params(context: PolicyContext, name: string): Result {
  return (context.exchange && queryParams(context.exchange.request).get(name)) ?? [];
}

export const requestFunctions: readonly FunctionDeclaration[] = [
  reading("getReqHeader", strings, (context, name) => requestFields(context)?.getAll(name) ?? []),
  reading("hasReqHeader", bool, (context, name) => requestFields(context)?.has(name) ?? false),
  reading("getQueryParam", strings, params),
  reading("hasQueryParam", bool, (context, name) => (params(context, name) as readonly string[]).length > 0),
  reading("getReqCookie", cookieType, (context, name) => named(cookiesOfRequest(context), name) ?? {}),
  reading("hasReqCookie", bool, (context, name) => named(cookiesOfRequest(context), name) !== undefined),
];

export const responseFunctions: readonly FunctionDeclaration[] = [
  reading("getResHeader", strings, (context, name) => responseFields(context)?.getAll(name) ?? []),
  reading("hasResHeader", bool, (context, name) => responseFields(context)?.has(name) ?? false),
  reading("getResCookie", cookieType, (context, name) => named(cookiesOfResponse(context), name) ?? {}),
  reading("hasResCookie", bool, (context, name) => named(cookiesOfResponse(context), name) !== undefined),
];
