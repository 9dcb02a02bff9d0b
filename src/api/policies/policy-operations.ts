/** Operations on traffic policies that no object uses yet: list what they may contain, and evaluate them. */
import { maxPolicyBytes } from "../../policy/policy-document.ts";
import { serverData } from "../../policy/server-data.ts";
import { describePolicyLanguage } from "../../policy/language-description.ts";
import type { Layer } from "../../policy/language/action.ts";
import { f } from "../../schema/fields.ts";
import type { Fields } from "../../schema/fields.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Store } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { readDescribedRequest, requestFields } from "../traffic/explain-operations.ts";
import { stepSchema } from "../traffic/traffic-schemas.ts";
import { makePolicyChecker } from "./policy-checker.ts";
import { exampleCheck, exampleLanguage, languageSchema, policyCheckSchema } from "./policy-schemas.ts";

const own = {
  policy: f.string("The policy, as JSON or YAML.", {
    required: true,
    maxBytes: maxPolicyBytes,
    example: "on_http_request:\n  - actions:\n      - type: deny",
  }),
  protocol: f.oneOf(
    "Protocol of the policy's endpoint: routes of HTTPS, or edges and endpoints of TLS or TCP.",
    ["http", "tls", "tcp"],
    {
      default: "http",
    },
  ),
} satisfies Fields;

export function policyOperations(store: Pick<Store, "revision">, clock: Clock, log: Log): Operation[] {
  const checker = makePolicyChecker(clock, log);
  let language: string | undefined;
  return [
    {
      id: "getPolicyLanguage",
      method: "GET",
      path: "/policies/language",
      summary: "Return the language of traffic policies: phases, actions, variables and functions.",
      takes: "nothing",
      status: 200,
      replySchema: "PolicyLanguage",
      schemas: { PolicyLanguage: languageSchema },
      exampleReply: exampleLanguage,
      run() {
        language ??= JSON.stringify(describePolicyLanguage());
        return { status: 200, body: language, revision: store.revision };
      },
    },
    {
      id: "checkPolicy",
      method: "POST",
      path: "/policies/check",
      summary:
        "Check a traffic policy for errors, with line and column, and simulate its rules with a request. Nothing is stored or sent. Secrets, IP policies and internal endpoints are not available.",
      reads: true,
      takes: "object",
      status: 200,
      input: { ...own, ...requestFields },
      exampleBody: { policy: "on_http_request:\n  - actions:\n      - type: deny", method: "GET", path: "/orders" },
      replySchema: "PolicyCheck",
      schemas: { PolicyCheck: policyCheckSchema, Step: stepSchema },
      exampleReply: exampleCheck,
      run: async (call) => ({ ...(await checkPolicy(call, clock, checker)), revision: store.revision }),
    },
  ];
}

async function checkPolicy(call: Call, clock: Clock, checker: ReturnType<typeof makePolicyChecker>): Promise<Reply> {
  const { policy: _, protocol: __, ...described } = call.body;
  const given = Object.fromEntries(Object.entries(call.body).filter(([name]) => name in own));
  const { doc, issues: faults } = parseFields(own, given, "create");
  if (faults.length > 0) throw inputRefusal(call.operation.id, faults);
  const text = doc["policy"] as string;
  const layer = doc["protocol"] as Layer;
  const request = readDescribedRequest({ ...call, body: described }, "https", "app.example.com", "");
  const body = await checker(call.principal.id, { text, layer, request, nowMs: clock.now(), data: serverData() });
  return { status: 200, body };
}
