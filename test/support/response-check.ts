/** Compares responses of the API with its description. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv/dist/2020.js";
import type { ApiResponse, Body } from "./api.ts";
import { root } from "./command.ts";

type Response = Pick<ApiResponse, "status" | "text" | "body"> & { readonly headers: IncomingHttpHeaders };

let check: ((method: string, path: string, response: Response) => void) | undefined;

/**
 * Fails the test if the response differs from `openapi.json`. `test/api/description.test.ts` checks that servers return
 * this file.
 */
export function checkResponse(method: string, path: string, response: Response): void {
  check ??= checkBy(JSON.parse(readFileSync(`${root}openapi.json`, "utf8")) as Body);
  check(method, path, response);
}

function checkBy(description: Body): NonNullable<typeof check> {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
  ajv.addSchema({ components: { schemas: description.components.schemas } }, "api");
  const paths = Object.keys(description.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
  }));
  paths.sort((left, right) => placeholders(left.template) - placeholders(right.template));
  const compiled = new Map<string, ValidateFunction>();
  const schemaFor = (ref: string): ValidateFunction => {
    let found = compiled.get(ref);
    if (!found) compiled.set(ref, (found = ajv.compile({ $ref: `api${ref}` })));
    return found;
  };
  return (method, path, response) => {
    if (method === "HEAD" || method === "OPTIONS") return;
    const called = path.split("?")[0] as string;
    // OAuth has its own forms of errors.
    if (called.startsWith("/oauth/")) return;
    const template = paths.find(({ pattern }) => pattern.test(called))?.template;
    const operation = template === undefined ? undefined : description.paths[template][method.toLowerCase()];
    const described = operation?.responses[String(response.status)];
    if (operation && response.status < 400) assert.ok(described, `${method} ${path}: ${response.status} is described`);
    if (operation && response.status >= 400 && response.text.startsWith("{")) {
      const listed = [described, operation.responses.default].flatMap((one) => codesOf(description, one));
      const code = response.body.error_code;
      assert.ok(listed.includes(code), `${method} ${path}: ${response.status} ${code} is described`);
    }
    if (operation) {
      const answer = sharedAnswer(description, described ?? operation.responses.default);
      checkHeaders(`${method} ${path} ${response.status}`, headersOf(description, answer), response.headers, ajv);
    }
    const schema = described?.content?.["application/json"]?.schema;
    const ref = schema?.$ref ?? (response.status >= 400 && response.status !== 503 ? "#/components/schemas/Error" : "");
    if (ref === "") {
      if (response.status === 204) assert.equal(response.text, "");
      return;
    }
    const isRight = schemaFor(ref);
    assert.ok(isRight(response.body), `${method} ${path} ${response.status}: ${ajv.errorsText(isRight.errors)}`);
  };
}

interface DescribedHeader {
  readonly required?: boolean;
  readonly schema: { readonly type: string };
}

/** Header fields that responses may have only if the description lists them. */
const ours = /^(?:postern-|ratelimit-|etag$|retry-after$|www-authenticate$|allow$|preference-applied$)/;

function checkHeaders(
  what: string,
  described: Readonly<Record<string, DescribedHeader>>,
  headers: IncomingHttpHeaders,
  ajv: Ajv2020,
): void {
  for (const [name, { required, schema }] of Object.entries(described)) {
    const text = headers[name.toLowerCase()]?.toString();
    if (text === undefined) assert.ok(required !== true, `${what}: has the header ${name}`);
    else {
      const value = schema.type === "string" ? text : (JSON.parse(text) as unknown);
      assert.ok(ajv.validate(schema, value), `${what}: ${name} ${text}: ${ajv.errorsText()}`);
    }
  }
  const known = new Set(Object.keys(described).map((name) => name.toLowerCase()));
  const others = Object.keys(headers).filter((name) => ours.test(name) && !known.has(name));
  assert.deepEqual(others, [], `${what}: every header is described`);
}

function headersOf(description: Body, answer: Body): Readonly<Record<string, DescribedHeader>> {
  const entries = Object.entries<Body>(answer?.headers ?? {});
  return Object.fromEntries(entries.map(([name, { $ref }]) => [name, description.components.headers[nameOf($ref)]]));
}

function sharedAnswer(description: Body, answer: Body): Body {
  return answer?.$ref === undefined ? answer : description.components.responses[nameOf(answer.$ref)];
}

function nameOf(ref: string): string {
  return ref.split("/").at(-1) as string;
}

/** Returns the codes of a described response: those of the operation, or those of all failures. */
function codesOf(
  description: Body,
  described: { readonly $ref: string; readonly description?: string } | undefined,
): string[] {
  if (described?.description?.startsWith("ERR_")) return described.description.split(", ");
  const shared = description.components.responses[described?.$ref.split("/").at(-1) ?? ""];
  const examples = shared?.content["application/json"].examples ?? {};
  return Object.values<Body>(examples).map(({ value }) => value.error_code);
}

function placeholders(template: string): number {
  return template.split("{").length;
}
