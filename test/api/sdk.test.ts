/** The SDK against the API: every operation, and the SDK's additions. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import {
  Postern,
  PosternConnectionError,
  PosternError,
  answerOf,
  errorCodes,
  operations,
} from "../../sdk/src/index.ts";
import type { Answer, FetchInit, Listing, Operation } from "../../sdk/src/index.ts";
import { describedOperations } from "../../src/api/operations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { sessionPulse } from "../support/other-calls.ts";
import { databases } from "../support/postgres.ts";
import { checkResponse } from "../support/response-check.ts";
import { makeWorld, seedWorld } from "../support/world.ts";
import type { World } from "../support/world.ts";

type Method = (...args: readonly unknown[]) => unknown;

/** The last request, and its answer. */
interface Seen {
  url: string;
  init: FetchInit;
  status: number;
}

const described = describedOperations();

/** The error for a call to a path without operation. */
const astray: readonly string[] = [
  errorCode("unknown_path"),
  errorCode("method_not_allowed"),
  errorCode("query_unknown"),
];

describe("the SDK", () => {
  let api: TestApi;
  let world: World;
  let postern: Postern;
  let seen: Seen;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { seed: seedWorld });
    world = makeWorld(api);
    api.edge.answer = (message) => {
      if (message.type === "command") return { type: "command_result", call: message.call, text: sessionPulse };
      return message.type === "question" ? { type: "answer", call: message.call, answer: undefined } : undefined;
    };
    postern = new Postern({
      baseUrl: `${api.baseUrl}/`,
      apiKey: api.apiKey,
      async fetch(url, init) {
        const answer = await fetch(url, init);
        seen = { url, init, status: answer.status };
        const text = await answer.clone().text();
        const body = text.startsWith("{") ? JSON.parse(text) : {};
        const headers = Object.fromEntries(answer.headers);
        checkResponse(init.method, url.slice(api.baseUrl.length), { status: answer.status, headers, text, body });
        return answer;
      },
    });
  });
  after(() => api.stop());

  it("the SDK has every operation of the API, each once", () => {
    const places = operations.map(({ group, verb }) => [...group, verb].join("."));
    assert.equal(new Set(places).size, places.length);
    const known = described.map(({ id, method, path }) => `${id} ${method} ${path}`);
    assert.deepEqual(operations.map(({ id, method, path }) => `${id} ${method} ${path}`).sort(), known.sort());
  });

  for (const operation of operations) {
    const place = [...operation.group, operation.verb].map(camel).join(".");
    it(`postern.${place} carries out ${operation.id}`, async () => {
      const declared = described.find(({ id }) => id === operation.id);
      assert(declared);
      const { path, body } = declared.resource ? await world.callFor(declared) : await otherCall(operation);
      const args: unknown[] = idsOf(operation.path, path);
      if (operation.takesBody) args.push(body ?? {});
      const result = methodOf(postern, operation)(...args);
      const answer = await (
        operation.answers === "list" ? (result as Listing<unknown>).page() : (result as Promise<unknown>)
      ).catch(asRefused);
      assert.equal(`${seen.init.method} ${seen.url.slice(api.baseUrl.length)}`, `${operation.method} ${path}`);
      if (answer instanceof PosternError && !declared.resource)
        return assert(!astray.includes(answer.code), answer.message);
      assert.equal(seen.status, declared.status);
      assert.equal(kindOf(answer), operation.answers);
    });
  }

  /** Of the operations that are about no resource: the API may have nothing to answer with, but it must be its answer. */
  async function otherCall(operation: Operation): Promise<{ path: string; body: unknown }> {
    const policy = await postern.ipPolicies.create({});
    const path = operation.path.replaceAll(/\{\w+\}/g, String(answerOf(policy).revision));
    // Without an edge that has a configuration, the server is not ready.
    api.edge.send({ type: "hello", edgeId: "edge" });
    api.edge.send({ type: "applied", revision: 1 });
    // Operations with a body of many objects.
    return { path, body: operation.takesBody ? { objects: {} } : undefined };
  }

  it("the SDK walks through a list over its pages, while objects go", async () => {
    const made: string[] = [];
    for (let count = 0; count < 7; count += 1) made.unshift((await postern.vaults.create({ name: `v${count}` })).id);
    const listed: string[] = [];
    for await (const vault of postern.vaults.list({ limit: 2 })) {
      listed.push(vault.id);
      await postern.vaults.delete(vault.id);
    }
    assert.deepEqual(listed.slice(0, made.length), made);
    assert.deepEqual(await postern.vaults.list().all(), []);
  });

  it("the SDK starts a list at the given position", async () => {
    const [first, second] = [await postern.ipPolicies.create({}), await postern.ipPolicies.create({})];
    const { items, nextBeforeId } = await postern.ipPolicies.list({ limit: 1, before_id: second.id }).page();
    assert.deepEqual(items, [first]);
    assert.equal(nextBeforeId, first.id);
  });

  it("the SDK changes an object only as the one that was read", async () => {
    const policy = await postern.ipPolicies.create({ description: "one" });
    const changed = await postern.ipPolicies.update(policy.id, { description: "two" }, { ifMatch: policy });
    assert.notEqual(answerOf(changed).etag, answerOf(policy).etag);
    for (const ifMatch of [policy, answerOf(policy).etag]) {
      const late = postern.ipPolicies.update(policy.id, { description: "three" }, { ifMatch });
      await assert.rejects(late, refusal("precondition_failed", 412));
    }
    const etag = answerOf(changed).etag as string;
    await postern.ipPolicies.delete(policy.id, { ifMatch: etag });
    await assert.rejects(postern.ipPolicies.get(policy.id), refusal("not_found", 404));
  });

  it("the SDK returns header values of an answer without a body", async () => {
    const policy = await postern.ipPolicies.create({});
    const rule = await postern.ipPolicyRules.create({
      ip_policy_id: policy.id,
      cidr: "192.0.2.0/24",
      action: "allow",
    });
    const told: Answer[] = [];
    const onAnswer = (answer: Answer): void => void told.push(answer);
    await postern.ipPolicies.delete(policy.id, { dry_run: true, onAnswer });
    assert.deepEqual([told[0]?.status, told[0]?.also], [204, [`delete ip_policy_rule ${rule.id}`]]);
    await postern.ipPolicies.delete(policy.id, { onAnswer });
    assert.deepEqual([told.length, told[1]?.also], [2, []]);
    await assert.rejects(postern.ipPolicies.delete(policy.id, { onAnswer }), refusal("not_found", 404));
    assert.equal(told.length, 2, "a refusal is thrown");
  });

  it("the SDK refuses to match an object that brought no ETag", async () => {
    const policy = await postern.ipPolicies.create({});
    const [listed] = (await postern.ipPolicies.list({ limit: 1 }).page()).items;
    for (const ifMatch of [{ ...policy }, listed as object]) {
      await assert.rejects(async () => postern.ipPolicies.delete(policy.id, { ifMatch }), TypeError);
    }
  });

  it("the SDK creates once under one idempotency key", async () => {
    const options = { idempotencyKey: "once-and-no-more" };
    const first = await postern.ipPolicies.create({ description: "a" }, options);
    assert.deepEqual(await postern.ipPolicies.create({ description: "a" }, options), first);
    const other = postern.ipPolicies.create({ description: "b" }, options);
    await assert.rejects(other, refusal("idempotency_reused", 422));
  });

  it("the SDK sends the given preference and reason", async () => {
    await postern.ipPolicies.create({}, { waitSeconds: 0, reason: "a test" });
    assert.equal(seen.init.headers["prefer"], "wait=0");
    assert.equal(seen.init.headers["postern-reason"], "a test");
  });

  it("the SDK sends reasons in any script, and keys that no header field can carry not at all", async () => {
    for (const reason of ["naïve café", "Łódź, 東京 🚀", "50% off, %41 stays %41", "a", "é".repeat(127)]) {
      const policy = await postern.ipPolicies.create({}, { reason });
      assert.match(seen.init.headers["postern-reason"] ?? "", /^[\x20-\x7e]+$/);
      const written = await postern.revisions.get(String(answerOf(policy).revision));
      assert.equal(written.reason, reason);
    }
    const tooLong = postern.ipPolicies.create({}, { reason: "é".repeat(128) });
    await assert.rejects(tooLong, refusal("reason_invalid", 400));
    await assert.rejects(postern.ipPolicies.create({}, { reason: "a\nb" }), refusal("reason_invalid", 400));
    for (const options of [{ idempotencyKey: "schlüssel" }, { ifMatch: "“1”" }, { idempotencyKey: "" }]) {
      await assert.rejects(postern.ipPolicies.create({}, options), TypeError);
    }
  });

  it("the SDK names each wrong field, the operation and the code of a refusal", async () => {
    const wrong = postern.ipPolicyRules.create({ cidr: "10.0.0.1/8", ip_policy_id: "ipp_x", action: "allow" });
    await assert.rejects(wrong, (error: unknown) => {
      assert(error instanceof PosternError);
      assert.match(error.details["cidr"] ?? "", /^must /);
      assert.match(error.operationId, /^op_/);
      assert.equal(error.operationId, error.details["operation_id"]);
      assert.equal(error.message.includes("createIPPolicyRule"), true);
      return true;
    });
    const unknown = new Postern({ baseUrl: api.baseUrl, apiKey: "nobody's" });
    await assert.rejects(unknown.ipPolicies.list().all(), refusal("unknown_credentials", 401));
  });

  it("the SDK makes no other path of an id", async () => {
    const other = postern.edges.https.get("../../ip_policies");
    await assert.rejects(other, refusal("not_found", 404));
    for (const id of ["", ".", "..", undefined]) {
      assert.throws(() => void postern.edges.https.get(id as string), TypeError);
    }
  });
});

describe("the SDK with a server that is not the API", () => {
  it("the SDK reports when nothing listens", async () => {
    const unused = await answering(() => {});
    await unused.stop();
    await assert.rejects(unused.postern.ipPolicies.get("x"), connectionFailure(/ECONNREFUSED/));
  });

  it("the SDK quotes the answer of a server that is not the API", async () => {
    const stranger = await answering((_request, response) => response.writeHead(502).end("<h1>Bad gateway</h1>"));
    const json = await answering((_request, response) => response.writeHead(500).end('{"error":"?"}'));
    await assert.rejects(stranger.postern.ipPolicies.get("x"), connectionFailure(/502 .*Bad gateway/));
    await assert.rejects(json.postern.ipPolicies.get("x"), connectionFailure(/500 with what is not the API's/));
    await Promise.all([stranger.stop(), json.stop()]);
  });

  it("the SDK waits no longer than its timeout", async () => {
    const silent = await answering(() => {}, { timeoutMs: 50 });
    await assert.rejects(silent.postern.ipPolicies.get("x"), connectionFailure(/no answer within 0.05 s/));
    const aborted = silent.postern.ipPolicies.get("x", { signal: AbortSignal.abort(new Error("enough")) });
    await assert.rejects(aborted, /enough/);
    await silent.stop();
  });

  it("the SDK sends the key to no address from an answer", async () => {
    const reached: string[] = [];
    const other = await answering((request, response) => {
      reached.push(String(request.url));
      response.end("{}");
    });
    const api = await answering((request, response) => {
      if (request.url === "/ip_policies/moved") return void response.writeHead(307, { location: other.baseUrl }).end();
      const isFirst = request.url === "/ip_policies";
      const next_page_uri = isFirst ? `${other.baseUrl}/ip_policies?before_id=ipp_1&limit=100` : null;
      response.end(JSON.stringify({ ip_policies: [{ id: isFirst ? "ipp_1" : "ipp_0" }], uri: "", next_page_uri }));
    });
    const listed = await api.postern.ipPolicies.list().all();
    assert.deepEqual(
      listed.map(({ id }) => id),
      ["ipp_1", "ipp_0"],
    );
    await assert.rejects(api.postern.ipPolicies.get("moved"), connectionFailure(/redirect/));
    assert.deepEqual(reached, []);
    await Promise.all([api.stop(), other.stop()]);
  });
});

async function answering(
  answer: RequestListener,
  options: { readonly timeoutMs?: number } = {},
): Promise<{ postern: Postern; baseUrl: string; stop(): Promise<void> }> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { postern: new Postern({ baseUrl, apiKey: "key", ...options }), baseUrl, stop };
}

function refusal(name: keyof typeof errorCodes, status: number): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof PosternError, String(error));
    assert.deepEqual([error.code, error.status], [errorCodes[name], status]);
    return true;
  };
}

function asRefused(error: unknown): PosternError {
  if (error instanceof PosternError) return error;
  throw error;
}

function connectionFailure(message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof PosternConnectionError, String(error));
    assert.match(error.message, message);
    return true;
  };
}

function methodOf(postern: Postern, { group, verb }: Operation): Method {
  let place: unknown = postern;
  for (const word of [...group, verb]) place = (place as Record<string, unknown>)[camel(word)];
  assert.equal(typeof place, "function");
  return place as Method;
}

/** The values of the path's parameters. */
function idsOf(template: string, path: string): string[] {
  const words = path.split("/");
  return template.split("/").flatMap((word, at) => (word.startsWith("{") ? [words[at] as string] : []));
}

function kindOf(answer: unknown): Operation["answers"] {
  if (answer === undefined) return "nothing";
  if (typeof answer === "string") return "text";
  return "items" in (answer as object) ? "list" : "object";
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
