import { captureWork } from "../../lib/heartbeat.ts";
import { nameHost } from "../parts/named-host.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { listOf, objectType, types } from "../../cel/checking/cel-types.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { isSignatureAlgorithm, signatureAlgorithms } from "../../jose/algorithms.ts";
import { checkClaims, tokenTypes } from "../../jose/token-claims.ts";
import { readSignedToken, TokenFault } from "../../jose/compact.ts";
import type { SignedToken } from "../../jose/compact.ts";
import type { KeySets } from "../../jose/key-sets.ts";
import { verifyToken } from "../../jose/verify-token.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, makeDone, endWith, policyErrorCode, skipAction } from "../language/action.ts";
import type { ActionOutcome, ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { keySetsOf } from "../parts/outside.ts";
import { findToken } from "../parts/request-token.ts";
import type { Template } from "../language/template.ts";
import { isJsonObject } from "../../lib/json.ts";

const kinds = ["id_token", "access_token", "at+jwt", "it+jwt", "plain", "jwt"] as const;
const required = { required: true } as const;

const accepted = f.list(
  "Accepted values, compared exactly.",
  f.object("One value.", { value: f.string("The value; can contain `${…}`.", { required: true, maxBytes: 1024 }) }),
  { required: true, minItems: 1, maxItems: 10 },
);

const token = f.object("One token.", {
  type: f.oneOf("Type of token.", kinds, required),
  method: f.oneOf("Part of the request.", ["header", "body"], required),
  name: f.string("Name of the header field or body member; can contain `${…}`.", { required: true, minBytes: 1 }),
  prefix: f.string("Text before the token, such as `Bearer `; can contain `${…}`."),
});

const keys = f.object(
  "Keys that verify.",
  {
    sources: f.object(
      "Sources of the keys.",
      {
        additional_jkus: f.list(
          "URLs of key sets, tried in this order; can contain `${…}`.",
          f.string("One URL.", { maxBytes: 2048, minBytes: 1 }),
          { required: true, minItems: 1, maxItems: 100, unique: true },
        ),
      },
      required,
    ),
    identification: f.object(
      "How a token identifies its key.",
      { token_claims: f.list("Claims.", f.oneOf("One way.", ["kid"]), { maxItems: 1 }) },
      { nullable: true },
    ),
  },
  required,
);

const validated = objectType("a token", {
  header: types.dyn,
  payload: types.dyn,
  signature: types.string,
  location: types.string,
  location_property: types.string,
  verified: types.bool,
});

export const jwtValidation = defineAction({
  type: "jwt-validation",
  phases: ["on_http_request"],
  doc: "Allows requests that have all of the tokens, each valid now and signed by a key of its issuer.",
  config: {
    issuer: f.object("Issuers.", { allow_list: accepted }, required),
    audience: f.object("Accepted audiences; any if absent.", { allow_list: accepted }, { nullable: true }),
    http: f.object(
      "Where to find tokens.",
      { tokens: f.list("Tokens.", token, { required: true, minItems: 1, maxItems: 10 }) },
      required,
    ),
    jws: f.object(
      "Accepted signature algorithms.",
      {
        allowed_algorithms: f.list("Algorithms.", f.oneOf("One algorithm.", signatureAlgorithms), {
          required: true,
          minItems: 1,
          maxItems: signatureAlgorithms.length,
          unique: true,
        }),
        keys,
      },
      required,
    ),
  },
  terminating: "may",
  results: { name: "jwt_validation", fields: { tokens: listOf(validated) } },
  alsoTakes: { jws: { type: "object" } },
  widen: widenKeys,
  compile({ issuer, audience, http, jws }, scope) {
    const templates = (texts: readonly string[], at: (index: number) => string): Template[] =>
      texts.map((text, index) => scope.template(text, at(index)));
    const valuesOf = (list: readonly { readonly value: string }[], name: string): Template[] =>
      templates(
        list.map(({ value }) => value),
        (index) => `${name}.allow_list[${index}].value`,
      );
    const checks: Checks = {
      issuers: valuesOf(issuer?.allow_list ?? [], "issuer"),
      audiences: audience ? valuesOf(audience.allow_list, "audience") : undefined,
      places: (http?.tokens ?? []).map(({ type, method, name, prefix }, index) => ({
        type,
        method,
        name: scope.template(name, `http.tokens[${index}].name`),
        prefix: scope.template(prefix, `http.tokens[${index}].prefix`),
      })),
      algorithms: (jws?.allowed_algorithms ?? []).filter(isSignatureAlgorithm),
      sources: templates(jws?.keys?.sources?.additional_jkus ?? [], sourceAt),
    };
    checkSources(checks.sources, scope);
    return {
      attach: keySetsOf,
      run: (context, keySets) => validateTokens(checks, context, keySets as KeySets),
      rehearse: (context, keySets) => rehearseValidation(checks, context, keySets as KeySets),
    };
  },
});

interface Checks {
  readonly issuers: readonly Template[];
  readonly audiences: readonly Template[] | undefined;
  readonly places: readonly {
    readonly type: (typeof kinds)[number];
    readonly method: "header" | "body";
    readonly name: Template;
    readonly prefix: Template;
  }[];
  readonly algorithms: readonly (typeof signatureAlgorithms)[number][];
  readonly sources: readonly Template[];
}

/** Converts `keys`, `sources` and `identification` to objects if they are lists of one object. */
export function widenKeys(config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { jws } = config;
  if (!isJsonObject(jws)) return config;
  const keys = unwrapSingle(jws["keys"]);
  if (!isJsonObject(keys)) return config;
  const inner = Object.fromEntries(Object.entries(keys).map(([name, value]) => [name, unwrapSingle(value)] as const));
  return { ...config, jws: { ...jws, keys: inner } };
}

function unwrapSingle(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
}

function sourceAt(index: number): string {
  return `jws.keys.sources.additional_jkus[${index}]`;
}

function checkSources(sources: readonly Template[], scope: ActionScope): void {
  for (const [index, { constant }] of sources.entries()) {
    if (constant === undefined || isHttps(constant)) continue;
    scope.wrong(sourceAt(index), "must be an https:// URL", "policy_url_invalid");
  }
}

function isHttps(text: string): boolean {
  return URL.parse(text)?.protocol === "https:";
}

/** The reason why a request is rejected. */
class TokenRefusal extends Error {
  readonly reason: RefusalName;

  constructor(reason: RefusalName, message: string) {
    super(message);
    this.reason = reason;
  }
}

async function validateTokens(checks: Checks, context: PolicyContext, keySets: KeySets): Promise<ActionOutcome> {
  const inSameWork = captureWork();
  const tokens: Value[] = [];
  try {
    const issuers = textsOf(checks.issuers, context);
    const audiences = checks.audiences && textsOf(checks.audiences, context);
    const sources = textsOf(checks.sources, context);
    for (const place of checks.places) {
      const name = textOf(place.name, context);
      const read = inSameWork(await tokenAt(place.method, name, textOf(place.prefix, context), context));
      const { header, payload, signature } = read;
      const seen = { header, payload, signature: signature.toString("base64url") } as Record<string, Value>;
      const found = { ...seen, location: place.method, location_property: name, verified: false };
      const at = tokens.push(found) - 1;
      inSameWork(await checkSignature(read, checks, sources, keySets));
      const fault = checkClaims(read, { issuers, audiences, types: tokenTypes[place.type] }, context.place.clock.now());
      if (fault) {
        const [reason, message] = claimFaults[fault];
        throw new TokenRefusal(reason, message);
      }
      tokens[at] = { ...found, verified: true };
    }
    return makeDone(`${tokens.length === 1 ? "the token is" : "all tokens are"} valid`, { tokens });
  } catch (error) {
    if (error instanceof BrokenText) return breakWith(error.failure);
    if (!(error instanceof TokenRefusal)) throw error;
    return refuseToken(error, tokens);
  }
}

/** Checks a token in a rehearsal, without fetching keys. */
async function rehearseValidation(checks: Checks, context: PolicyContext, keySets: KeySets): Promise<ActionOutcome> {
  for (const source of checks.sources) {
    const url = source.text(context);
    if (url instanceof CelFailure || keySets.has(url, undefined)) continue;
    return skipAction(`would fetch keys from ${nameHost(source)}`);
  }
  const known: KeySets = {
    keysFor: (url, keyId) => (keySets.has(url, keyId) ? keySets.keysFor(url, keyId) : Promise.resolve(undefined)),
    has: (url, keyId) => keySets.has(url, keyId),
  };
  return validateTokens(checks, context, known);
}

function refuseToken({ reason, message }: TokenRefusal, tokens: readonly Value[]): ActionOutcome {
  // RFC 6750 §3: a request without a token gets no error code.
  const challenge = reason === "token_missing" ? "Bearer" : 'Bearer error="invalid_token"';
  const answer = { error: reason, headers: { "www-authenticate": challenge } };
  return endWith(message, { by: "refusal", answer }, { tokens, error: { code: policyErrorCode(reason), message } });
}

async function tokenAt(
  method: "header" | "body",
  name: string,
  prefix: string,
  { exchange }: PolicyContext,
): Promise<SignedToken> {
  const inSameWork = captureWork();
  const text = exchange && inSameWork(await findToken(exchange, { method, name, prefix }));
  if (text === undefined) throw new TokenRefusal("token_missing", `the ${method}'s "${name}" has no token`);
  try {
    return readSignedToken(text);
  } catch (error) {
    if (!(error instanceof TokenFault)) throw error;
    throw new TokenRefusal("token_unreadable", `the token ${error.message}`);
  }
}

async function checkSignature(
  token: SignedToken,
  { algorithms }: Checks,
  sources: readonly string[],
  keySets: KeySets,
): Promise<void> {
  const inSameWork = captureWork();
  // Checked before any fetch for the token.
  if (!algorithms.some((one) => one === token.algorithm)) {
    throw new TokenRefusal("token_algorithm_refused", "the token's algorithm is not allowed");
  }
  let isAnswered = false;
  let isTried = false;
  for (const url of sources) {
    const keys = isHttps(url) ? inSameWork(await keySets.keysFor(url, token.keyId)) : undefined;
    if (!keys) continue;
    isAnswered = true;
    const verdict = inSameWork(await verifyToken(token, algorithms, keys));
    if (verdict === "verified") return;
    isTried ||= verdict === "signature";
  }
  if (!isAnswered) throw new TokenRefusal("token_keys_unavailable", "there are no keys to verify the token");
  throw isTried
    ? new TokenRefusal("token_signature_wrong", "the token's signature is wrong")
    : new TokenRefusal("token_key_unknown", "no key of the issuer matches the token");
}

const claimFaults = {
  type: ["token_type_wrong", "the token is of another type"],
  issuer: ["token_issuer_wrong", "the token's issuer is not on the list"],
  audience: ["token_audience_wrong", "none of the token's audiences is on the list"],
  expired: ["token_expired", "the token has expired"],
  no_expiry: ["token_expired", "the token has no expiry time"],
  too_early: ["token_too_early", "the token is not valid yet"],
  issued_later: ["token_too_early", "the token's issue time is in the future"],
  time: ["token_unreadable", "the token has an invalid time"],
} as const satisfies Record<string, readonly [RefusalName, string]>;

class BrokenText extends Error {
  readonly failure: CelFailure;

  constructor(failure: CelFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

function textOf(template: Template, context: PolicyContext): string {
  const text = template.text(context);
  if (text instanceof CelFailure) throw new BrokenText(text);
  return text;
}

function textsOf(templates: readonly Template[], context: PolicyContext): string[] {
  return templates.map((template) => textOf(template, context));
}
