/** Expressions over a single request with its body, outside a policy: they name a message of an inbox, or its line. */
import { types } from "../cel/checking/cel-types.ts";
import type { Environment } from "../cel/checking/environment.ts";
import { defineEnvironment } from "../cel/checking/environment.ts";
import { compileSource } from "../cel/program.ts";
import type { Program } from "../cel/program.ts";
import { CelFailure } from "../cel/values/cel-failure.ts";
import type { Clock } from "../lib/clock.ts";
import type { Exchange } from "../traffic/exchange.ts";
import { defaultPolicyServices, PolicyContext } from "./language/policy-context.ts";
import type { PolicyPlace } from "./language/policy-context.ts";
import { textOf } from "./language/text-of.ts";
import { messageVariables, requestFunctionsOf } from "./policy-environment.ts";
import { declareVariable } from "./variables/declare.ts";

/** Texts of expressions may not be longer. */
const maxBodyText = 65_536;

class MessageContext extends PolicyContext {
  readonly body: string;

  constructor(place: PolicyPlace, exchange: Exchange, body: Buffer) {
    super(place, "on_http_request", exchange.connection, exchange, false);
    this.body = body.length > maxBodyText ? "" : body.toString("utf8");
  }
}

let made: Environment | undefined;

function makeEnvironment(): Environment {
  return (made ??= defineEnvironment({
    variables: {
      ...messageVariables,
      body: declareVariable(
        types.string,
        (context) => (context as MessageContext).body,
        (context) => ((context as MessageContext).body.length + 63) >> 6,
      ),
    },
    functions: requestFunctionsOf(),
  }));
}

/** Returns the fault of an expression as the end of "must …", or undefined. */
export function messageExpressionIssue(source: string): string | undefined {
  const compiled = compileSource(source, makeEnvironment());
  return compiled.ok ? undefined : `be an expression: ${compiled.issues[0]?.message ?? "it is invalid"}`;
}

/** Returns the value of the expression as text; "" if it has none. */
export type MessageExpression = (exchange: Exchange, body: Buffer) => string;

export interface MessagePlace {
  readonly accountId: string;
  readonly ownerId: string;
  readonly clock: Clock;
}

/** Throws if the expression is invalid. */
export function compileMessageExpression(source: string, given: MessagePlace): MessageExpression {
  const compiled = compileSource(source, makeEnvironment());
  if (!compiled.ok) throw new Error(`compile "${source}": ${compiled.issues[0]?.message ?? "it is invalid"}`);
  const { program } = compiled;
  const place = placeFor(given);
  return (exchange, body) => evaluateText(program, new MessageContext(place, exchange, body));
}

function evaluateText(program: Program, context: MessageContext): string {
  const value = program.evaluate(context, context);
  const text = value instanceof CelFailure ? value : textOf(value, context);
  return text instanceof CelFailure ? "" : text;
}

function placeFor({ accountId, ownerId, clock }: MessagePlace): PolicyPlace {
  const none = (): never => {
    throw new Error("an expression of an inbox has no policy");
  };
  return {
    accountId,
    ownerId,
    endpoint: { id: ownerId, protocol: "https" },
    clock,
    services: defaultPolicyServices,
    keep: (_key, make) => make(),
    ipPolicy: none,
    authority: none,
    login: none,
  };
}
