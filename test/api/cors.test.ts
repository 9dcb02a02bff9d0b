/** Browser pages of other origins use the API with the protocol of the Fetch standard. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Postern, PosternConnectionError, PosternError, answerOf, errorCodes } from "../../sdk/src/index.ts";
import type { Fetch, FetchInit } from "../../sdk/src/index.ts";
import { originIssue } from "../../src/lib/origin.ts";
import { send, startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];
const ours = "https://app.example.com";
const other = "https://evil.example";

describe("a page that calls the API", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite, { apiOrigins: [ours, "http://localhost:5173"] });
  });
  after(() => api.stop());

  it("a page that calls the API reads, writes, sees refusals and header fields, from an origin that is listed", async () => {
    for (const origin of [ours, "http://localhost:5173"]) {
      const postern = new Postern({ baseUrl: api.baseUrl, apiKey: api.apiKey, fetch: asPage(origin) });
      const policy = await postern.ipPolicies.create({ description: "x" }, { idempotencyKey: origin, reason: "é" });
      assert.notEqual(answerOf(policy).etag, undefined);
      assert.notEqual(answerOf(policy).revision, undefined);
      await postern.ipPolicies.update(policy.id, { description: "y" }, { ifMatch: policy, waitSeconds: 0 });
      await assert.rejects(
        postern.ipPolicies.update(policy.id, {}, { ifMatch: policy }),
        isRefusal("precondition_failed"),
      );
      await postern.ipPolicies.delete(policy.id);
      await assert.rejects(postern.ipPolicies.get(policy.id), isRefusal("not_found"));
      const stranger = new Postern({ baseUrl: api.baseUrl, apiKey: "wrong", fetch: asPage(origin) });
      await assert.rejects(stranger.ipPolicies.get(policy.id), isRefusal("unknown_credentials"));
    }
  });

  it("a page that calls the API gets nothing from an origin that is not listed, whatever it resembles", async () => {
    for (const origin of [other, "null", `${ours}.evil.example`, "http://app.example.com", `${ours}:8443`, "*"]) {
      const postern = new Postern({ baseUrl: api.baseUrl, apiKey: api.apiKey, fetch: asPage(origin) });
      await assert.rejects(postern.ipPolicies.create({}), PosternConnectionError);
    }
  });

  it("a page that calls the API names one origin to each and never all, and allows no credentials", async () => {
    for (const origin of [ours, other, undefined]) {
      for (const method of ["GET", "OPTIONS"]) {
        const { headers } = await ask(api, method, "/healthz", origin);
        assert.equal(headers["access-control-allow-origin"], origin === ours ? ours : undefined);
        assert.equal(headers["access-control-allow-credentials"], undefined);
        assert.match(headers["vary"] ?? "", /\borigin\b/);
      }
    }
    assert.match((await ask(api, "GET", "/docs", ours)).headers["vary"] ?? "", /accept-encoding/);
  });

  it("a page that calls the API sends a preflight without a key, also for paths that do not exist", async () => {
    for (const path of ["/ip_policies", "/nowhere"]) {
      const asked = { "access-control-request-method": "PATCH", "access-control-request-headers": "authorization" };
      const allowed = await ask(api, "OPTIONS", path, ours, asked);
      assert.equal(allowed.status, 204);
      assert.match(allowed.headers["access-control-allow-methods"] ?? "", /\bPATCH\b/);
      const refused = await ask(api, "OPTIONS", path, other, asked);
      assert.equal(refused.headers["access-control-allow-methods"], undefined);
    }
  });
});

describe("an API without origins", () => {
  it("an API without origins sends nothing to pages", async () => {
    const api = await startApi(sqlite);
    try {
      const asked = { "access-control-request-method": "POST" };
      for (const [method, more] of [
        ["GET", {}],
        ["OPTIONS", asked],
      ] as const) {
        const { headers } = await ask(api, method, "/ip_policies", ours, more);
        assert.deepEqual(
          Object.keys(headers).filter((name) => /^(?:access-control-|vary$)/.test(name)),
          [],
        );
      }
    } finally {
      await api.stop();
    }
  });

  it("the API's origins must have the form that browsers send", () => {
    for (const origin of ["https://app.example.com", "http://localhost:5173", "https://[::1]:8443"]) {
      assert.equal(originIssue(origin), undefined);
    }
    for (const text of [
      "*",
      "null",
      "app.example.com",
      `${ours}/`,
      `${ours}:443`,
      "https://App.example.com",
      "file:///x",
      "",
    ]) {
      assert.notEqual(originIssue(text), undefined, text);
    }
    assert.match(originIssue("https://App.example.com/x") ?? "", /https:\/\/app\.example\.com$/);
  });
});

function ask(
  api: TestApi,
  method: string,
  path: string,
  origin: string | undefined,
  more: Record<string, string> = {},
): Promise<ApiResponse> {
  return send(api.baseUrl, method, path, undefined, { origin, ...more });
}

function isRefusal(name: keyof typeof errorCodes): (error: unknown) => boolean {
  return (error) => error instanceof PosternError && error.code === errorCodes[name];
}

/** Fields of answers that every page may read (Fetch standard, "CORS-safelisted response-header name"). */
const readable = [
  "cache-control",
  "content-language",
  "content-length",
  "content-type",
  "expires",
  "last-modified",
  "pragma",
];

/** `fetch` in a page of `origin`: it sends a preflight, and hides disallowed answers. */
function asPage(origin: string): Fetch {
  return async (url, init: FetchInit) => {
    const { origin: base } = new URL(url);
    const path = url.slice(base.length);
    const asked = {
      origin,
      "access-control-request-method": init.method,
      "access-control-request-headers": Object.keys(init.headers).sort().join(","),
    };
    const preflight = await send(base, "OPTIONS", path, undefined, asked);
    const names = (name: string, answer: ApiResponse) => (answer.headers[name] ?? "").toLowerCase().split(/ *, */);
    const allows = (answer: ApiResponse) => answer.headers["access-control-allow-origin"] === origin;
    const mayUse = names("access-control-allow-methods", preflight).includes(init.method.toLowerCase());
    const mayHave = names("access-control-allow-headers", preflight);
    if (preflight.status !== 204 || !allows(preflight) || !mayUse) throw new TypeError("the preflight was refused");
    const missing = Object.keys(init.headers).filter((name) => !mayHave.includes(name));
    if (missing.length > 0) throw new TypeError(`the preflight does not allow ${missing.join()}`);
    const answer = await send(base, init.method, path, init.body, { ...init.headers, origin });
    if (!allows(answer)) throw new TypeError("the answer is not for this origin");
    const exposed = [...readable, ...names("access-control-expose-headers", answer)];
    return {
      status: answer.status,
      headers: {
        get: (name) => (exposed.includes(name.toLowerCase()) ? (answer.headers[name.toLowerCase()] ?? null) : null),
      },
      text: () => Promise.resolve(answer.text),
    };
  };
}
