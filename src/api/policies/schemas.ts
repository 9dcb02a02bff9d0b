/** What is answered of policies that are nobody's yet. */
import { errorCode } from "../../lib/errors.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { list, object, text } from "../operation/shapes.ts";

const place = {
  path: text("Where in the policy, e.g. `on_http_request[0].expressions[1]`; empty for the whole."),
  message: text("What is wrong or doubtful, and what was probably meant."),
  line: { type: "integer", description: "Line of the text, from 1." },
  column: { type: "integer", description: "Column in code points, from 1." },
} satisfies Readonly<Record<string, JsonSchema>>;

const headers = (description: string): JsonSchema =>
  list(description, object("A header field.", { name: text("Name, lower case."), value: text("Value.") }));

const explanation = object("What the policy would do.", {
  outcome: {
    type: "string",
    enum: ["forwarded", "answered", "denied", "failed"],
    description: "How it ends: passed on, answered or denied by a rule, or not to be tried without an account.",
  },
  status_code: {
    type: ["integer", "null"],
    description: "What a rule answers; 0 when the connection is dropped, null when it goes on.",
  },
  forwarded_to: { type: ["string", "null"], description: "Internal endpoint that a rule leads to." },
  steps: list("What decided, in order.", { $ref: schemaRef("Step") }),
  request_headers: headers("Header fields as they would reach the upstream."),
  response: {
    anyOf: [
      object("The response as the client would get it.", {
        status_code: { type: "integer", description: "Status." },
        headers: headers("Header fields."),
        body: { type: ["string", "null"], description: "Body; null for a page of the edge's own." },
      }),
      { type: "null" },
    ],
  },
});

export const policyCheckSchema = object("What is wrong with a policy, and what it would do.", {
  issues: list(
    "What keeps it from being put into effect, up to twenty, in the order of the text.",
    object("A fault.", { ...place, error_code: text("Code that a write would be refused with.") }),
  ),
  warnings: list("What is taken as it is given, and was probably not meant so.", object("A doubt.", place)),
  explanation: { anyOf: [explanation, { type: "null" }], description: "Null while anything is wrong with it." },
});

export const exampleCheck = {
  issues: [
    {
      path: "on_http_request[0].expressions[0]",
      message: 'line 1, column 5: there is no "req.pth"; did you mean "req.url.path"?',
      line: 3,
      column: 13,
      error_code: errorCode("policy_expression_invalid"),
    },
  ],
  warnings: [],
  explanation: null,
};

const phase = object("A phase.", {
  phase: text("Its name."),
  actions: list("Types of actions that it may have; `schema` says what each takes.", { type: "string" }),
  variables: list(
    "What its expressions may read.",
    object("A variable.", { name: text("Its name."), type: text("Its type, as CEL writes it.") }),
  ),
  functions: list(
    "What they may call.",
    object("A function.", {
      name: text("Its name."),
      signatures: list("Each way to call it: `string.startsWith(string) -> bool`.", { type: "string" }),
    }),
  ),
});

const phases = list("Its phases.", phase);

export const languageSchema = object("What traffic policies may be written with.", {
  protocols: object("By what a policy stands on.", { http: phases, tls: phases, tcp: phases }),
  macros: list("Calls that name a variable, as in `list.exists(x, x > 1)`.", { type: "string" }),
  schema: { type: "object", description: "The form of policies (JSON Schema 2020-12).", additionalProperties: true },
  examples: list(
    "Policies to begin with.",
    object("An example.", {
      title: text("What it does."),
      protocols: list("What it may stand on.", { type: "string", enum: ["http", "tls", "tcp"] }),
      policy: text("The policy."),
    }),
  ),
});

export const exampleLanguage = {
  protocols: {
    http: [
      {
        phase: "on_http_request",
        actions: ["deny"],
        variables: [{ name: "req.url.path", type: "string" }],
        functions: [{ name: "startsWith", signatures: ["string.startsWith(string) -> bool"] }],
      },
    ],
    tls: [],
    tcp: [],
  },
  macros: ["has", "exists"],
  schema: { $schema: "https://json-schema.org/draft/2020-12/schema", title: "Traffic policy" },
  examples: [
    { title: "Refuse all", protocols: ["http"], policy: "on_http_request:\n  - actions:\n      - type: deny\n" },
  ],
};
