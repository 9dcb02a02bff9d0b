/** Schemas of replies about policies that no object uses yet. */
import { errorCode } from "../../lib/errors.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { listSchema, object, textSchema } from "../operation/shapes.ts";

const place = {
  path: textSchema("Position in the policy, such as `on_http_request[0].expressions[1]`; empty for the whole policy."),
  message: textSchema("The error or likely mistake, and a suggestion."),
  line: { type: "integer", description: "Line of the text, from 1." },
  column: { type: "integer", description: "Column in code points, from 1." },
} satisfies Readonly<Record<string, JsonSchema>>;

const headersSchema = (description: string): JsonSchema =>
  listSchema(
    description,
    object("A header field.", { name: textSchema("Name, lower case."), value: textSchema("Value.") }),
  );

const explanation = object("Simulated effect of the policy.", {
  outcome: {
    type: "string",
    enum: ["forwarded", "answered", "denied", "failed"],
    description: "Outcome: forwarded, answered or denied by a rule, or not testable without an account.",
  },
  status_code: {
    type: ["integer", "null"],
    description: "Status of a rule's answer; 0 if the connection is dropped, null if the request is forwarded.",
  },
  forwarded_to: { type: ["string", "null"], description: "Internal endpoint to which a rule forwards." },
  steps: listSchema("The decisions, in order.", { $ref: schemaRef("Step") }),
  request_headers: headersSchema("Header fields as the upstream would get them."),
  response: {
    anyOf: [
      object("The response as the client would get it.", {
        status_code: { type: "integer", description: "Status." },
        headers: headersSchema("Header fields."),
        body: { type: ["string", "null"], description: "Body; null for a page from the edge." },
      }),
      { type: "null" },
    ],
  },
});

export const policyCheckSchema = object("Errors of a policy, and its simulated effect.", {
  issues: listSchema(
    "Errors that prevent its use, up to twenty, in the order of the text.",
    object("A fault.", { ...place, error_code: textSchema("Error code of a write with this policy.") }),
  ),
  warnings: listSchema("Likely mistakes in accepted values.", object("A doubt.", place)),
  explanation: { anyOf: [explanation, { type: "null" }], description: "Null while the policy has errors." },
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
  phase: textSchema("Its name."),
  actions: listSchema("Supported action types; `schema` has the fields of each.", { type: "string" }),
  variables: listSchema(
    "Variables that expressions can read.",
    object("A variable.", { name: textSchema("Its name."), type: textSchema("Its type, as CEL writes it.") }),
  ),
  functions: listSchema(
    "Functions that expressions can call.",
    object("A function.", {
      name: textSchema("Its name."),
      signatures: listSchema("All signatures: `string.startsWith(string) -> bool`.", { type: "string" }),
    }),
  ),
});

const phases = listSchema("Its phases.", phase);

export const languageSchema = object("The language of traffic policies.", {
  protocols: object("By the protocol of the policy's endpoint.", { http: phases, tls: phases, tcp: phases }),
  macros: listSchema("Calls that name a variable, as in `list.exists(x, x > 1)`.", { type: "string" }),
  schema: { type: "object", description: "JSON Schema of policies (2020-12).", additionalProperties: true },
  examples: listSchema(
    "Example policies.",
    object("An example.", {
      title: textSchema("What the example does."),
      protocols: listSchema("Protocols that support the example.", { type: "string", enum: ["http", "tls", "tcp"] }),
      policy: textSchema("The policy."),
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
