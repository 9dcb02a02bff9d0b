/** Responses of the API, held against its description. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv/dist/2020.js";
import type { ApiResponse, Body } from "./api.ts";

export type ResponseCheck = (
  method: string,
  path: string,
  response: Pick<ApiResponse, "status" | "text" | "body">,
) => void;

/** Fails the test for responses that are not as `description` (of `/openapi.json`) says. */
export function responseCheck(description: Body): ResponseCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
  ajv.addSchema(description, "api");
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
    const template = paths.find(({ pattern }) => pattern.test(called))?.template;
    const operation = template === undefined ? undefined : description.paths[template][method.toLowerCase()];
    const described = operation?.responses[String(response.status)];
    if (operation && response.status < 400) assert.ok(described, `${method} ${path}: ${response.status} is described`);
    if (operation && response.status >= 400 && response.text.startsWith("{")) {
      const listed = [described, operation.responses.default].flatMap((one) => codesOf(description, one));
      const code = response.body.error_code;
      assert.ok(listed.includes(code), `${method} ${path}: ${response.status} ${code} is described`);
    }
    const schema = described?.content?.["application/json"]?.schema;
    const ref = schema?.$ref ?? (response.status >= 400 && response.status !== 503 ? "#/components/schemas/Error" : "");
    if (ref === "") {
      if (response.status === 204) assert.equal(response.text, "");
      return;
    }
    const check = schemaFor(ref);
    assert.ok(check(response.body), `${method} ${path} ${response.status}: ${ajv.errorsText(check.errors)}`);
  };
}

/** The codes that a described answer lists. */
function codesOf(description: Body, described: { readonly $ref: string } | undefined): string[] {
  const shared = description.components.responses[described?.$ref.split("/").at(-1) ?? ""];
  const examples = shared?.content["application/json"].examples ?? {};
  return Object.values<Body>(examples).map(({ value }) => value.error_code);
}

function placeholders(template: string): number {
  return template.split("{").length;
}
