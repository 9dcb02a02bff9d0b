import { f } from "../schema/fields.ts";
import type { DeclaredAction } from "./declared-action.ts";
import { webUrl } from "./formats.ts";

const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;
const kinds = ["id_token", "access_token", "at+jwt", "it+jwt", "plain", "jwt"] as const;
const required = { required: true } as const;

const accepted = (doc: string) =>
  f.object(
    doc,
    {
      allow_list: f.list(
        "Values that are accepted.",
        f.object("One of them.", { value: f.string("The value.", { required: true, maxBytes: 1024 }) }),
        { required: true, minItems: 1, maxItems: 10 },
      ),
    },
    { nullable: true },
  );

const token = f.object("One of them.", {
  type: f.oneOf("Kind of token.", kinds, required),
  method: f.oneOf("Part of the request.", ["header", "body"], required),
  name: f.string("Name of the field.", required),
  prefix: f.string("What stands before the token."),
});

const keys = f.object(
  "Keys that verify.",
  {
    sources: f.object(
      "Where they come from.",
      {
        additional_jkus: f.list("URLs of key sets.", f.string("One of them.", { maxBytes: 2048, format: webUrl }), {
          required: true,
          minItems: 1,
          maxItems: 10,
        }),
      },
      required,
    ),
    identification: f.object(
      "How a token names its key.",
      { token_claims: f.list("Claims.", f.string("One of them.", { minBytes: 1 }), { maxItems: 10 }) },
      { nullable: true },
    ),
  },
  required,
);

export const jwtValidation: DeclaredAction = {
  type: "jwt-validation",
  phases: ["on_http_request"],
  doc: "Lets requests past that carry a valid token.",
  config: {
    issuer: accepted("Issuers."),
    audience: accepted("Audiences."),
    http: f.object(
      "Where tokens are.",
      { tokens: f.list("Tokens.", token, { required: true, minItems: 1, maxItems: 10 }) },
      required,
    ),
    jws: f.object(
      "How tokens are signed.",
      {
        allowed_algorithms: f.list("Algorithms.", f.oneOf("One of them.", algorithms), {
          required: true,
          minItems: 1,
          maxItems: algorithms.length,
          unique: true,
        }),
        keys,
      },
      required,
    ),
  },
};
