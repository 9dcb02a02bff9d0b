/** Shared by every action that requires visitors to log in. */
import type { Value } from "../../cel/values/cel-values.ts";
import { objectType, types } from "../../cel/checking/cel-types.ts";
import type { RequestHead } from "../../traffic/exchange.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { Visitor, VisitorSession } from "../../traffic/visitor.ts";
import type { Step } from "../../traffic/step.ts";
import { breakAction, makeDone, endWith, skipAction } from "../language/action.ts";
import type { ActionOutcome, CompiledAction } from "../language/action.ts";
import type { PolicyContext, PolicyPlace } from "../language/policy-context.ts";
import type { AskedClient, AskedLogin } from "../../traffic/asked-login.ts";

const { bool, string } = types;

/** Returns the results shared by all logins. @param sessionField name of the field with the login itself */
export function loginResults(sessionField: string) {
  const texts = { id: string, email: string, name: string, provider_user_id: string, [sessionField]: string };
  return {
    identity: objectType("an identity", { ...texts, email_verified: bool }),
    expires_at: string,
    session_timed_out: bool,
    session_max_duration_reached: bool,
  } as const;
}

export type LoginResult = Readonly<Record<string, Value>>;

interface Run {
  readonly guard: LoginGuard;
  readonly client: AskedClient | undefined;
}

export interface LoginAction {
  readonly authId: string;
  /** Address of the provider; "" if the provider is known by its name. */
  readonly address: string;
  readonly allowsPreflight: boolean;
  asked(place: PolicyPlace): { readonly login: AskedLogin; readonly client: AskedClient | undefined };
  /** @param wasChecked whether the provider was queried again for this request */
  result(visitor: Visitor, session: VisitorSession | undefined, wasChecked: boolean): LoginResult;
}

export function loginAction(action: LoginAction): CompiledAction {
  const { authId, address, allowsPreflight, asked } = action;
  const ask = (context: PolicyContext, state: unknown, isRun: boolean): ActionOutcome | Promise<ActionOutcome> => {
    const { guard, client } = state as Run;
    const { exchange } = context;
    if (!exchange) return skipAction("there is no request");
    if (context.until === guard) return endWith("the login", { by: "reached" });
    if (allowsPreflight && isPreflight(exchange.request)) {
      return skipAction("a CORS preflight request passes without a login");
    }
    const unfit = client && faultOf(client);
    if (unfit) return unfit;
    const step = isRun ? guard.request(exchange) : guard.rehearse(exchange);
    return step instanceof Promise
      ? step.then((one) => outcomeOf(one, action, context))
      : outcomeOf(step, action, context);
  };
  return {
    login: { authId, address },
    attach(place): Run {
      const { login, client } = asked(place);
      return { guard: place.login(login), client: client?.mayChange === true ? client : undefined };
    },
    // A replay has the recorded visitor instead of a session.
    run: (context, state) => ask(context, state, context.exchange?.replay === undefined),
    rehearse: (context, state) => ask(context, state, false),
  };
}

function faultOf(client: AskedClient): ActionOutcome | undefined {
  const present = client.read();
  if (!present) return breakAction("policy_interpolation_failed", "the client's id or secret could not be computed");
  if (present.id !== "" && present.secret !== "") return undefined;
  return breakAction("policy_login_client_empty", `the client's ${present.id === "" ? "id" : "secret"} is empty`);
}

function outcomeOf(step: Step, { result }: LoginAction, context: PolicyContext): ActionOutcome {
  const { exchange } = context;
  if (!exchange) return skipAction("there is no request");
  // Reports about logins look for the login's own step, as for modules.
  exchange.steps.push(step);
  if (step.answer !== undefined) return endWith(step.reason, { by: "login", step });
  const { login: visitor } = exchange;
  if (!visitor) return makeDone(step.reason);
  const { session } = visitor;
  for (const token of session ? [session.accessToken, session.refreshToken, session.idToken] : [])
    context.conceal(token);
  const wasChecked =
    session !== undefined && session.checkedAt > session.loginAt && session.checkedAt >= exchange.receivedAt;
  const expires = session ? new Date(session.endsAt).toISOString() : "";
  return makeDone(step.reason, {
    ...result(visitor, session, wasChecked),
    expires_at: expires,
    session_timed_out: false,
    session_max_duration_reached: false,
  });
}

/** Fetch standard, "CORS-preflight request". */
function isPreflight({ method, headers }: RequestHead): boolean {
  return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
}

/** @param sessionField name of the field with the login itself */
export function identityOf(
  { subject, email, emailVerified, name }: Visitor,
  session: VisitorSession | undefined,
  sessionField: string,
): Readonly<Record<string, Value>> {
  const ids = { id: session?.userId ?? "", provider_user_id: subject, [sessionField]: session?.id ?? "" };
  return { ...ids, email, email_verified: emailVerified, name };
}
