import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { objectType, types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { HeaderFields } from "../../traffic/header-fields.ts";
import { f } from "../../schema/fields.ts";
import type { StringFormat } from "../../schema/fields.ts";
import { breakWith, defineAction, makeDone, endWith } from "../language/action.ts";
import type { ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { enforceField } from "../language/enforce-field.ts";
import { unquotedTypes } from "../language/unquoted.ts";
import type { Template } from "../language/template.ts";

const { bool, string } = types;

const realmText: StringFormat = {
  name: "realm",
  example: "staff",
  check: (text) => (/^[\x20-\x7e]*$/.test(text) ? undefined : "be printable ASCII"),
};

/** RFC 7617, in constant time. */
export const basicAuth = defineAction({
  type: "basic-auth",
  phases: ["on_http_request"],
  doc: "Requires a user name and a password.",
  config: {
    credentials: f.list(
      "Allowed users, as `user:password`; passwords have 8 to 128 bytes.",
      f.string("A user and a password; can contain `${…}`.", { minBytes: 1, maxBytes: 4096, secret: true }),
      { required: true, minItems: 1, maxItems: 10 },
    ),
    realm: f.string("The realm that clients show.", { maxBytes: 128, format: realmText, default: "ngrok" }),
    enforce: enforceField,
  },
  alsoTakes: {
    credentials: {
      type: "array",
      items: {
        type: "object",
        properties: { username: { type: unquotedTypes }, password: { type: unquotedTypes } },
        required: ["username", "password"],
        additionalProperties: false,
      },
    },
  },
  widen(given) {
    const list = given["credentials"];
    if (!Array.isArray(list)) return given;
    return { ...given, credentials: list.map(pairOf) };
  },
  terminating: "may",
  results: {
    name: "basic_auth",
    fields: { credentials: objectType("credentials", { presented: bool, username: string, authorized: bool }) },
  },
  compile({ credentials, realm, enforce }, scope) {
    const accepted = credentials.map((text, at) => compileCredential(text, `credentials[${at}]`, scope));
    const answer = { error: "basic_auth_required", headers: { "www-authenticate": renderChallenge(realm) } } as const;
    // Compares digests, so that the time reveals neither the length nor the place of a difference.
    const key = randomBytes(32);
    const digest = (text: string): Buffer => createHmac("sha256", key).update(text).digest();
    const fixed = accepted.map(({ constant }) => (constant === undefined ? undefined : digest(constant)));
    const isKnown = (shown: string, context: PolicyContext): boolean | CelFailure => {
      const wanted = digest(shown);
      let found = false;
      for (const [at, template] of accepted.entries()) {
        const known = fixed[at] ?? resolveCredential(template, context, digest);
        if (known instanceof CelFailure) return known;
        found = timingSafeEqual(known, wanted) || found;
      }
      return found;
    };
    return {
      run(context) {
        const shown = readPresented(context.exchange?.request.headers);
        const known = shown === undefined ? false : isKnown(shown, context);
        if (known instanceof CelFailure) return breakWith(known);
        const username = shown === undefined ? "" : shown.slice(0, shown.indexOf(":"));
        const result = { credentials: { presented: shown !== undefined, username, authorized: known } };
        if (known) return makeDone("the credentials are right", result);
        const reason = shown === undefined ? "no credentials" : "the credentials are wrong";
        return enforce ? endWith(reason, { by: "refusal", answer }, result) : makeDone(reason, result);
      },
    };
  },
});

/** Resolves a credential with interpolated values. If its password has no valid length, it matches no request. */
function resolveCredential(
  template: Template,
  context: PolicyContext,
  digest: (text: string) => Buffer,
): Buffer | CelFailure {
  const text = template.text(context);
  if (text instanceof CelFailure) return text;
  return credentialIssue(text) === undefined ? digest(text) : randomBytes(32);
}

function compileCredential(text: string, at: string, scope: ActionScope): Template {
  const template = scope.template(text, at);
  const issue = template.constant === undefined ? undefined : credentialIssue(template.constant);
  if (issue !== undefined) scope.wrong(at, `must ${issue}`, "policy_credential_invalid");
  return template;
}

function credentialIssue(text: string): string | undefined {
  const colon = text.indexOf(":");
  if (colon < 1) return "be a user, a colon and a password";
  const bytes = Buffer.byteLength(text.slice(colon + 1));
  return bytes < 8 || bytes > 128 ? "have a password of 8 to 128 bytes" : undefined;
}

function pairOf(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const { username, password, ...rest } = given as Record<string, unknown>;
  const isPair = typeof username === "string" && typeof password === "string" && Object.keys(rest).length === 0;
  return isPair ? `${username}:${password}` : given;
}

/** RFC 7617 §2: double quotes and `\` are escaped in a quoted string. */
function renderChallenge(realm: string): string {
  return `Basic realm="${realm.replace(/["\\]/g, "\\$&")}"`;
}

function readPresented(fields: HeaderFields | undefined): string | undefined {
  const values = fields?.getAll("authorization") ?? [];
  const encoded =
    values.length === 1 ? /^basic +([A-Za-z0-9+/]{1,8192}={0,2}) *$/i.exec(values[0] as string)?.[1] : undefined;
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  return text.includes(":") ? text : undefined;
}
