import { captureWork } from "../../lib/heartbeat.ts";
import { nameHost } from "../parts/named-host.ts";
import { defineEnvironment } from "../../cel/checking/environment.ts";
import { listOf, mapOf, objectType, types } from "../../cel/checking/cel-types.ts";
import { standardFunctions } from "../../cel/functions/standard.ts";
import { stringFunctions } from "../../cel/functions/strings.ts";
import { compileSource as compileExpression } from "../../cel/program.ts";
import type { Program } from "../../cel/program.ts";
import { issueText } from "../../cel/syntax/issue.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { toInt } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { f } from "../../schema/fields.ts";
import { newChain } from "../../traffic/http-calls.ts";
import type { CallRequest } from "../../traffic/http-calls.ts";
import {
  breakAction,
  breakWith,
  defineAction,
  makeDone,
  failAction,
  policyErrorCode,
  skipAction,
} from "../language/action.ts";
import type { ActionOutcome, ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { parseDuration } from "../language/duration.ts";
import { durationFormat } from "../language/policy-formats.ts";
import { compileHeaders, headerValuesOf, requestHeaders } from "../language/header-fields.ts";
import type { HeaderTemplates } from "../language/header-fields.ts";
import type { CallAttempt, CallFault, HttpCall, HttpCaller } from "../language/http-caller.ts";
import type { Template } from "../language/template.ts";
import { callsOf } from "../parts/outside.ts";

const methods = ["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const;

const { string, int: integer } = types;
const headerMap = mapOf(string, listOf(string));
const requestType = objectType("a request", { method: string, url: string, header: headerMap, body: string });
const answerType = objectType("an answer", {
  status_code: integer,
  header: headerMap,
  body: string,
  time_ms: integer,
  resolved_ip: string,
});
const errorType = objectType("an error", { code: string, message: string });
const attemptType = objectType("an attempt", {
  response_status_code: integer,
  response_header: headerMap,
  response_time_ms: integer,
  resolved_ip: string,
});

interface Retrying {
  readonly attempts: Value;
  readonly last: Value;
}

/** Environment of `retry_condition`, which reads only the attempts. */
const retryEnvironment = defineEnvironment({
  variables: {
    attempts: { type: listOf(attemptType), read: ({ attempts }: Retrying) => attempts },
    last_attempt: {
      type: objectType("the last attempt", { req: requestType, res: answerType, error: errorType }),
      read: ({ last }: Retrying) => last,
    },
  },
  functions: [...standardFunctions, ...stringFunctions],
});

export const httpRequest = defineAction({
  type: "http-request",
  phases: ["on_http_request", "on_http_response"],
  doc: "Sends a request to an internal endpoint of the account, or to a host that this server allows for policies. Later rules can read the answer.",
  config: {
    url: f.string("URL of the request; can contain `${…}`.", { required: true, minBytes: 1, maxBytes: 2048 }),
    method: f.oneOf("Method.", methods, { default: "GET" }),
    query_params: f.list(
      "Parameters to add to the URL's query.",
      f.object("One parameter.", {
        key: f.string("Its name.", { required: true, minBytes: 1, maxBytes: 128 }),
        value: f.string("Its value; can contain `${…}`.", { maxBytes: 8192 }),
      }),
      { maxItems: 32 },
    ),
    headers: requestHeaders,
    body: f.string("Body; can contain `${…}`.", { maxBytes: 32_768 }),
    timeout: f.string("Maximum time for all attempts, 1 s to 30 s.", {
      format: durationFormat(1, 30, 0),
      default: "3s",
    }),
    max_redirects: f.uint32("Maximum redirects to follow.", { max: 100, default: 0 }),
    retry_condition: f.string(
      "Expression with `attempts` and `last_attempt`, without `${…}`, that decides whether to retry. Maximum: three attempts.",
      { maxBytes: 2048, default: "false" },
    ),
    on_error: f.oneOf("Behavior if there is no answer.", ["continue", "halt"], { default: "continue" }),
  },
  terminating: "may",
  results: {
    name: "http_request",
    fields: { req: requestType, res: answerType, attempts: listOf(attemptType) },
  },
  compile(config, scope) {
    const { method, timeout, max_redirects: maxRedirects, on_error } = config;
    const templates: Templates = {
      url: scope.template(config.url, "url"),
      query: config.query_params.map(({ key, value }, index) => [
        key,
        scope.template(value, `query_params[${index}].value`),
      ]),
      headers: compileHeaders(config.headers, scope),
      body: scope.template(config.body, "body"),
    };
    if (templates.url.constant !== undefined && !isWeb(templates.url.constant)) {
      scope.wrong("url", "must be an https:// or http:// URL", "policy_url_invalid");
    }
    const retry = retryProgram(config.retry_condition, scope);
    const timeoutMs = (parseDuration(timeout) ?? 3) * 1000;
    const describe = (context: PolicyContext): HttpCall | CelFailure => {
      const said = evaluateTemplates(templates, method, context);
      return said instanceof CelFailure
        ? said
        : { ...said, method, timeoutMs, maxRedirects, retry: retry?.(context), origin: originOf(context) };
    };
    return {
      attach: callsOf,
      async run(context, calls) {
        const inSameWork = captureWork();
        const call = describe(context);
        if (call instanceof CelFailure) return breakWith(call);
        const attempts = inSameWork(await (calls as HttpCaller).call(call));
        return outcomeOf(attempts, on_error === "halt");
      },
      rehearse(context) {
        const call = describe(context);
        if (call instanceof CelFailure) return breakWith(call);
        return skipAction(`would send ${call.method} to ${nameHost(templates.url)}`);
      },
    };
  },
});

function originOf({ place, connection, exchange }: PolicyContext): HttpCall["origin"] {
  const chain = exchange?.calls ?? newChain();
  if (exchange) exchange.calls = chain;
  return { accountId: place.accountId, connection, chain };
}

interface Templates {
  readonly url: Template;
  readonly query: readonly (readonly [key: string, value: Template])[];
  readonly headers: HeaderTemplates;
  readonly body: Template;
}

function evaluateTemplates(
  { url, query, headers, body }: Templates,
  method: string,
  context: PolicyContext,
): Pick<HttpCall, "url" | "headers" | "body"> | CelFailure {
  const address = url.text(context);
  if (address instanceof CelFailure) return address;
  const fields = headerValuesOf(headers, context);
  if (fields instanceof CelFailure) return fields;
  const content = body.text(context);
  if (content instanceof CelFailure) return content;
  const pairs: string[] = [];
  for (const [key, template] of query) {
    const value = template.text(context);
    if (value instanceof CelFailure) return value;
    const spent = context.spendText(escapedGrowth * value.length);
    if (spent) return spent;
    pairs.push(`${encodeURIComponent(key)}=${encodeURIComponent(value.toWellFormed())}`);
  }
  const { exchange, connection } = context;
  return {
    url: withQuery(address, pairs),
    headers: {
      ...fields,
      "ngrok-req-type": "traffic-policy-http-request",
      ...(exchange && { "ngrok-req-id": exchange.id }),
      "x-forwarded-for": connection.source,
    },
    body: content === "" || method === "GET" || method === "HEAD" ? undefined : content,
  };
}

/** Adds the query before the fragment, after an existing query. */
function withQuery(url: string, pairs: readonly string[]): string {
  if (pairs.length === 0 || !URL.canParse(url)) return url;
  const whole = new URL(url);
  whole.search = [...(whole.search === "" ? [] : [whole.search.slice(1)]), ...pairs].join("&");
  return whole.href;
}

function isWeb(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? "");
}

function retryProgram(source: string, scope: ActionScope): Retry | undefined {
  if (source.trim() === "false") return undefined;
  const compiled = compileExpression(source, retryEnvironment, { result: types.bool, budget: scope.budget });
  if (compiled.ok) return makeRetry(compiled.program);
  for (const issue of compiled.issues) scope.wrong("retry_condition", issueText(issue), "policy_expression_invalid");
  return undefined;
}

/** Percent-encoding turns one character into nine. */
const escapedGrowth = 9;

type Retry = (context: PolicyContext) => HttpCall["retry"];

/** A condition without a value does not retry. */
function makeRetry(program: Program): Retry {
  return (context) => (attempts) => {
    const last = attempts.at(-1) as CallAttempt;
    const activation: Retrying = {
      attempts: attempts.map(attemptOf),
      last: { req: requestOf(last.request), res: answerOf(last), error: errorOf(last.fault) },
    };
    return program.evaluate(activation, context) === true;
  };
}

const faultCodes = {
  too_long: "policy_call_answer_long",
  timeout: "policy_call_timeout",
  loop: "policy_call_loop",
  refused: "policy_call_failed",
  failed: "policy_call_failed",
} as const satisfies Record<CallFault["kind"], RefusalName>;

function outcomeOf(attempts: readonly CallAttempt[], halts: boolean): ActionOutcome {
  const last = attempts.at(-1) as CallAttempt;
  const { answer, fault, request } = last;
  const result = {
    req: requestOf(request),
    res: answerOf(last),
    attempts: attempts.map(attemptOf),
  };
  const times = attempts.length === 1 ? "" : `, at attempt ${attempts.length}`;
  if (answer) return makeDone(`answered ${answer.status}${times}`, result);
  const code = faultCodes[fault?.kind ?? "failed"];
  const message = fault?.message ?? "there is no answer";
  if (halts) return breakAction(code, message + times);
  return failAction(code, message, result);
}

function requestOf(request: CallRequest | undefined): Value {
  const { method = "", url, headers = {}, body = "" } = request ?? {};
  return { method, url: url?.href ?? "", header: listsOf(headers), body };
}

function answerOf({ answer, timeMs }: CallAttempt): Value {
  const { status = 0, headers = {}, body, address = "" } = answer ?? {};
  return {
    status_code: toInt(status),
    header: listsOf(headers),
    body: body?.toString("utf8") ?? "",
    time_ms: toInt(Math.round(timeMs)),
    resolved_ip: address,
  };
}

function attemptOf({ answer, timeMs }: CallAttempt): Value {
  return {
    response_status_code: toInt(answer?.status ?? 0),
    response_header: listsOf(answer?.headers ?? {}),
    response_time_ms: toInt(Math.round(timeMs)),
    resolved_ip: answer?.address ?? "",
  };
}

function errorOf(fault: CallFault | undefined): Value {
  return fault ? { code: policyErrorCode(faultCodes[fault.kind]), message: fault.message } : { code: "", message: "" };
}

function listsOf(headers: Readonly<Record<string, string | readonly string[]>>): Value {
  const lists = Object.create(null) as Record<string, readonly string[]>;
  for (const [name, value] of Object.entries(headers)) lists[name] = [value].flat();
  return lists;
}
