/** Results of policy actions, as far as the record's text shows them. */
import { toInt } from "../cel/values/cel-values.ts";
import type { ActionOutcome, PhaseEnd } from "../policy/language/action.ts";
import type { Answer } from "../traffic/step.ts";
import type { RecordedAction } from "./recorded-steps.ts";

/** Actions whose outcome depends on earlier requests. */
export const statefulActions: ReadonlySet<string> = new Set(["rate-limit", "circuit-breaker"]);
/** Actions whose outcome comes from the record of the visitor. */
export const loginActions: ReadonlySet<string> = new Set(["oauth", "openid-connect", "saml"]);
/** Actions whose outcome does not depend on what they read: a hash of a value is as good as the value. */
export const indifferentActions: ReadonlySet<string> = new Set([
  "rate-limit",
  "log",
  "deny",
  "redirect",
  "custom-response",
]);

/** Makes the outcome that the record shows. `lacks` is called when an expression reads a part that it does not show. */
export function makeRecordedOutcome(
  type: string,
  { reason, isEnd }: RecordedAction,
  own: ActionOutcome | undefined,
  answer: Answer,
  lacks: (what: string) => void,
): ActionOutcome {
  const result = resultOf(type, reason, own?.result, lacks);
  const failed = type === "http-request" && !answered.test(reason);
  const outcome = isEnd ? ("ended" as const) : failed ? ("failed" as const) : ("done" as const);
  const end: PhaseEnd | undefined = isEnd ? (own?.end ?? { by: "refusal", answer }) : undefined;
  return { outcome, reason, ...(result && { result }), ...(end && { end }) };
}

const answered = /^answered (\d{3})/;

function resultOf(
  type: string,
  reason: string,
  own: ActionOutcome["result"],
  lacks: (what: string) => void,
): ActionOutcome["result"] {
  const unknown = (what: string): never => {
    lacks(what);
    return "" as never;
  };
  switch (type) {
    case "basic-auth": {
      const credentials = {
        presented: reason !== "no credentials",
        authorized: reason === "the credentials are right",
        get username() {
          return unknown("the user name of the credentials");
        },
      };
      return { credentials };
    }
    case "verify-webhook":
      return { verified: reason.endsWith(" is valid") };
    case "jwt-validation":
      return {
        get tokens() {
          return unknown("the content of the token");
        },
      };
    case "http-request": {
      const res = {
        status_code: toInt(Number(answered.exec(reason)?.[1] ?? 0)),
        get header() {
          return unknown("the header fields of the response to the rule's request");
        },
        get body() {
          return unknown("the body of the response to the rule's request");
        },
      };
      return { ...own, res };
    }
    case "rate-limit":
      return { ...own, limited: reason.startsWith("more than ") };
    default:
      return own;
  }
}
