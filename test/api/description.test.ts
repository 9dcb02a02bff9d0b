/** The examples in `/openapi.json`: everywhere, and as their schemas say. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv/dist/2020.js";
import { describeApi } from "../../src/api/description/openapi.ts";
import { describedOperations } from "../../src/api/operations.ts";
import { resourceOfId } from "../../src/api/operation/resource-declarations.ts";
import { startApi } from "../support/api.ts";
import type { Body } from "../support/api.ts";
import { root } from "../support/command.ts";
import { databases } from "../support/postgres.ts";
import type { TestDatabase } from "../support/postgres.ts";

const description: Body = JSON.parse(JSON.stringify(describeApi(describedOperations())));
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
ajv.addSchema(description, "api");

interface Example {
  readonly what: string;
  readonly schema: Body;
  readonly value: unknown;
}

describe("the description of the API", () => {
  const requests: Example[] = [];
  const answers: Example[] = [];
  for (const operation of Object.values<Body>(description.paths).flatMap((methods) => Object.values<Body>(methods))) {
    const id = operation.operationId as string;
    requests.push(...examplesIn(`${id} takes`, operation.requestBody?.content));
    for (const [status, answer] of Object.entries<Body>(operation.responses)) {
      answers.push(...examplesIn(`${id} answers ${status}`, resolved(answer).content));
    }
  }

  it("the description of the API that is served is openapi.json of the checkout", async () => {
    const api = await startApi(databases[0] as TestDatabase);
    try {
      const { body } = await api.request("GET", "/openapi.json");
      assert.deepEqual(body, JSON.parse(readFileSync(`${root}openapi.json`, "utf8")));
    } finally {
      await api.stop();
    }
  });

  it("the API description has an example of every request body, which matches its schema", () => {
    assert.ok(requests.length > 80);
    for (const example of requests) fits(example);
  });

  it("the API description has an example of every answer, for success and failure, which matches its schema", () => {
    assert.ok(answers.length > 800);
    for (const example of answers) fits(example);
  });

  it("the description of the API has one response for each status of refusals, and each operation names its codes", () => {
    const names = Object.keys(description.components.responses);
    assert.deepEqual(
      names.filter((name) => !/^(?:Failure|Refused[45]\d\d)$/.test(name)),
      [],
    );
    for (const { operationId, responses } of Object.values<Body>(description.paths).flatMap((all) =>
      Object.values<Body>(all),
    )) {
      for (const [status, answer] of Object.entries<Body>(responses)) {
        if (!(Number(status) >= 400) || answer.$ref === undefined) continue;
        assert.equal(answer.$ref, `#/components/responses/Refused${status}`, operationId);
        assert.match(answer.description, /^ERR_POSTERN_\d+(?:, ERR_POSTERN_\d+)*$/);
      }
    }
  });

  it("the API description states no default for request fields, so that generated clients send only what was set", () => {
    const withDefault = Object.entries<Body>(description.components.schemas).filter(([, schema]) =>
      JSON.stringify(schema.properties ?? {}).includes('"default":'),
    );
    assert.deepEqual(
      withDefault.map(([name]) => name),
      [],
    );
  });

  it("the description of the API has a body in every success but 204", () => {
    for (const { operationId, responses } of Object.values<Body>(description.paths).flatMap((all) =>
      Object.values<Body>(all),
    )) {
      const [status, answer] = Object.entries<Body>(responses).find(([code]) => code.startsWith("2")) ?? ["", {}];
      assert.equal(answer.content === undefined, status === "204", operationId);
    }
  });

  it("the description of the API shows ids of the right kind, and objects under their own URI", () => {
    for (const [name, { value }] of Object.entries<Body>(description.components.examples)) {
      for (const object of objectsIn(value)) {
        const { id, uri } = object as { id?: unknown; uri?: unknown };
        if (typeof id !== "string" || typeof uri !== "string" || uri === "") continue;
        assert.match(id, /^[a-z]+_[0-9a-z]{27}$/, name);
        assert.equal(uri.split("/").at(-1), id, name);
        const resource = resourceOfId(id);
        if (!resource) continue;
        const path = uri.replace(/^https:\/\/[^/]+/, "").slice(0, -id.length - 1);
        const paths = [resource.path, ...(resource.aliases ?? []).map((alias) => alias.path)];
        const patterns = paths.map((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[a-z]+_[0-9a-z]{27}")}$`));
        assert.ok(
          patterns.some((pattern) => pattern.test(path)),
          `${name}: ${uri}`,
        );
      }
    }
  });

  it("the API description has no dangling references and no unused components", () => {
    const text = JSON.stringify(description);
    const references = new Set([...text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, name]) => name));
    const there = Object.entries<Body>(description.components).flatMap(([part, all]) =>
      Object.keys(all).map((name) => `${part}/${name}`),
    );
    assert.deepEqual(
      [...references].filter((name) => !there.includes(name as string)),
      [],
    );
    const unused = there.filter((name) => !references.has(name) && !name.startsWith("securitySchemes/"));
    assert.deepEqual(unused, []);
  });
});

/** The examples of each media type, of which each has at least one. */
function examplesIn(what: string, content: Body = {}): Example[] {
  return Object.entries<Body>(content).flatMap(([type, { schema, example, examples }]) => {
    const values = example === undefined ? Object.values<Body>(examples ?? {}).map(valueOf) : [example];
    assert.ok(values.length > 0, `${what} as ${type}: has an example`);
    return values.map((value) => ({ what: `${what} as ${type}`, schema, value }));
  });
}

function valueOf({ $ref, value }: Body): unknown {
  return $ref === undefined ? value : description.components.examples[nameOf($ref)].value;
}

const compiled = new Map<string, ValidateFunction>();

function fits({ what, schema, value }: Example): void {
  const key = JSON.stringify(schema);
  const check = compiled.get(key) ?? ajv.compile(schema.$ref === undefined ? schema : { $ref: `api${schema.$ref}` });
  compiled.set(key, check);
  assert.ok(check(value), `${what}: ${ajv.errorsText(check.errors)}: ${JSON.stringify(value)}`);
}

function resolved(answer: Body): Body {
  return answer.$ref === undefined ? answer : description.components.responses[nameOf(answer.$ref)];
}

function nameOf(reference: string): string {
  return reference.split("/").at(-1) as string;
}

function* objectsIn(value: unknown): Generator<object> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}
