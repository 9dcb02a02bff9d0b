/** Arbitrary paths and queries cause no internal error, and the same answer on every database. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Agent } from "../../src/lib/http.ts";
import { send, startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { checkResponse } from "../support/response-check.ts";

/** In URL encoding: NUL, invalid UTF-8, lone surrogates, characters special to databases and patterns, numbers. */
const oddValues = [
  ..."%00 ipp_%00 %00%00%00 a%00b %01 %C0%80 %FF %ED%A0%80 %ED%B0%80 %EF%BF%BD %EF%BF%BE %F0%9F%98%80 %5C %5C%5C".split(
    " ",
  ),
  ..."%27 %22 %25 _ %25%25 %5B %7B%7D %24%31 %3F %0A %E2%80%AE -1 0 1.5 1e309 9007199254740993 2147483648".split(" "),
  ..."9223372036854775807 9223372036854775808 999999999999999 99999999999999999999 NaN null ipp_".split(" "),
  "a".repeat(4000),
  `ipp_${"%00".repeat(300)}`,
];

/** One position in this many has a harmless value. */
const turns = 12;

interface Place {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
}

/** Every operation with a place for a value, as the description lists them. */
function placesIn(description: Body): Place[] {
  return Object.entries(description.paths as Record<string, Record<string, Body>>).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => ["get", "delete", "patch", "post"].includes(method))
      .map(([method, { parameters = [] }]) => ({
        method: method.toUpperCase(),
        path,
        query: (parameters as Body[]).filter((one) => one.in === "query").map((one) => one.name as string),
      }))
      .filter((place) => place.path.includes("{") || place.query.length > 0),
  );
}

/** The URLs in which each place of the operation has the value, one after the other. */
function* urls({ path, query }: Place, value: string): Generator<string> {
  const whole = path.replaceAll(/\{[^}]+\}/g, "ipp_none");
  const names = [...path.matchAll(/\{[^}]+\}/g)];
  for (const { index, 0: name } of names) {
    const before = path.slice(0, index).replaceAll(/\{[^}]+\}/g, "ipp_none");
    const odd = before + value + path.slice(index + name.length).replaceAll(/\{[^}]+\}/g, "ipp_none");
    yield odd;
    if (query.includes("at_revision")) yield `${odd}?at_revision=1`;
  }
  for (const name of query) {
    yield `${whole}?${name}=${value}`;
    if (query.includes("at_revision") && name !== "at_revision") yield `${whole}?at_revision=1&${name}=${value}`;
  }
}

const unknown = { name: "unknown" } as const;

describe("odd values in paths and queries", () => {
  const apis: TestApi[] = [];
  /** New connections would be most of the cost of thousands of requests. */
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const request = async (api: TestApi, method: string, url: string, body?: object): Promise<ApiResponse> => {
    const type = body && { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${api.apiKey}`, "service-version": "2", ...type };
    const response = await send(api.baseUrl, method, url, body, headers, agent);
    checkResponse(method, url, response);
    return response;
  };
  before(async () => {
    for (const database of databases) {
      const api = await startApi(database, { apiRate: 1_000_000 });
      await api.ok("POST", "/ip_policies", { description: "\0 and \ud800" });
      api.edge.send({ type: "hello", edgeId: "edge" });
      api.edge.answer = (message) =>
        message.type === "question"
          ? {
              type: "answer",
              call: message.call,
              answer: message.question.name === "requests" ? { name: "requests", requests: [], more: false } : unknown,
            }
          : undefined;
      apis.push(api);
    }
  });
  after(async () => {
    agent.destroy();
    await Promise.all(apis.map((api) => api.stop()));
  });

  it("odd values in paths and queries are answered alike on every database, and never by a failure", async () => {
    const description = (await (apis[0] as TestApi).request("GET", "/openapi.json")).body as Body;
    let asked = 0;
    const ask = async ({ method }: Place, url: string): Promise<void> => {
      const body = method === "PATCH" || method === "POST" ? {} : undefined;
      const answers = await Promise.all(apis.map((api) => request(api, method, url, body)));
      const told = answers.map((answer) => `${answer.status} ${(answer.body as Body).error_code ?? ""}`);
      const shown = `${method} ${url.slice(0, 200)}: ${told.join(", ")}`;
      assert.ok(
        answers.every(({ status }) => status < 500),
        shown,
      );
      assert.equal(new Set(told).size, 1, shown);
      asked += 1;
    };
    for (const [at, place] of placesIn(description).entries()) {
      // Only reads reach the database with their input; other requests are resolved in memory first. The dangerous
      // values are tested at every position, the others in turn, because positions of one kind share their code.
      const more =
        place.method === "GET" ? oddValues.filter((_, index) => index > 5 && index % turns === at % turns) : [];
      const values = [...oddValues.slice(0, 6), ...more];
      await Promise.all(values.flatMap((value) => [...urls(place, value)].map((url) => ask(place, url))));
    }
    assert.ok(asked > 2000, `${asked} asked`);
  });
});
