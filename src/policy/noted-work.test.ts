import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readdirSync, readFileSync } from "node:fs";
import { makeManualClock } from "../../test/support/clock.ts";
import { makeAction } from "../../test/support/policy-action.ts";
import { issuers, makeToken } from "../../test/support/tokens.ts";
import { exchangeOf, runRequest } from "../../test/support/exchange.ts";
import { routeWith } from "../../test/support/routing.ts";
import { startHeartbeat, newHeart, workOf, workOn } from "../lib/heartbeat.ts";
import { recheckSession } from "../identity/guard/recheck.ts";
import type { PublicKey } from "../jose/key-set.ts";
import { webhookCheck } from "../traffic/parts/webhook-check.ts";
import { demandsOf } from "../traffic/parts/webhook-fields.ts";
import { httpRequest } from "./actions/http-request.ts";
import { jwtValidation } from "./actions/jwt-validation.ts";
import type { CallAttempt } from "./language/http-caller.ts";

const replaces = [{ type: "request-body-find-replace", config: { replacements: [{ from: "a", to: "b" }] } }];
/** The action waits for the body. Both later rules are decided after the wait. */
const asks = { expressions: ["req.method == 'PUT'"], actions: [{ type: "deny" }] };

describe("the watchdog's note of a thread's work", () => {
  it("D9: the watchdog's note names the route while rules run after an action that waited", async () => {
    const heart = newHeart();
    startHeartbeat(heart);
    const exchange = exchangeOf({ method: "POST", body: "a" });
    const noted: number[] = [];
    const request = new Proxy(exchange.request, {
      get(target, key) {
        if (key === "method") noted.push(workOf(heart));
        return Reflect.get(target, key) as unknown;
      },
    });
    const route = routeWith("traffic_policy", {
      enabled: true,
      value: JSON.stringify({ on_http_request: [{ actions: replaces }, asks, asks] }),
    });
    workOn(42);
    const step = runRequest(route, { ...exchange, request });
    workOn(0);
    await step;
    assert.ok(noted.length > 0);
    assert.deepEqual(new Set(noted), new Set([42]));
    assert.equal(workOf(heart), 0);
  });

  /** What the thread had noted each time that the code under test called the function, while owner 42 was at work. */
  const notedIn = async (start: (seen: () => void) => unknown): Promise<readonly number[]> => {
    const heart = newHeart();
    startHeartbeat(heart);
    const noted: number[] = [];
    workOn(42);
    const work = start(() => noted.push(workOf(heart)));
    workOn(0);
    await work;
    await new Promise(setImmediate);
    assert.equal(workOf(heart), 0, "nothing is noted any more");
    return noted;
  };
  const later = async <Value>(value: Value): Promise<Value> => {
    await new Promise(setImmediate);
    return value;
  };
  /** Calls `seen` each time that a property of the object is read. */
  const watched = <Watched extends object>(object: Watched, seen: () => void): Watched =>
    new Proxy(object, {
      get(target, key) {
        seen();
        return Reflect.get(target, key) as unknown;
      },
    });

  it("D9: the watchdog's note names the route while a token is verified with fetched keys", async () => {
    const token = makeToken("RS256", { iss: "i" }, { kid: "k" });
    const exchange = exchangeOf({ headers: { authorization: `Bearer ${token}` } });
    const key: PublicKey = { id: "k", algorithm: "RS256", kind: "rsa", key: issuers.RS256.publicKey } as never;
    const noted = await notedIn((seen) => {
      const keySets = () => ({ keysFor: () => later([watched(key, seen)]), has: () => true });
      return makeAction(
        jwtValidation,
        {
          issuer: { allow_list: [{ value: "i" }] },
          http: { tokens: [{ type: "jwt", method: "header", name: "authorization", prefix: "Bearer " }] },
          jws: {
            allowed_algorithms: ["RS256"],
            keys: { sources: { additional_jkus: ["https://i.example.com/keys"] } },
          },
        },
        { keySets },
        { ...makeManualClock(), now: () => (seen(), 0) },
      ).run(exchange);
    });
    assert.ok(noted.length > 3);
    assert.deepEqual(new Set(noted), new Set([42]));
  });

  it("D9: the watchdog's note names the route while a webhook is verified after its body has arrived", async () => {
    const noted = await notedIn((seen) => {
      const exchange = exchangeOf({ method: "POST", headers: { "x-hub-signature-256": "sha256=00" } });
      const { headers } = exchange.request;
      const body = Buffer.from("{}");
      const check = webhookCheck("github", "secret", {
        maxBytes: 100,
        demands: demandsOf({}),
        taken: undefined,
        clock: { ...makeManualClock(), now: () => (seen(), 0) },
      });
      return check(
        Object.assign(exchange, { body: () => later(body), request: { ...exchange.request, headers } }),
        false,
      );
    });
    assert.ok(noted.length > 0);
    assert.deepEqual(new Set(noted), new Set([42]));
  });

  it("D9: the watchdog's note names the route while the response to a rule's request is read", async () => {
    const answer: CallAttempt = { request: undefined, answer: undefined, fault: undefined, timeMs: 1 };
    const noted = await notedIn((seen) =>
      makeAction(
        httpRequest,
        { url: "https://a.example.com", method: "GET" },
        { calls: { call: () => later([watched(answer, seen)]) } },
      ).run(),
    );
    assert.ok(noted.length > 0);
    assert.deepEqual(new Set(noted), new Set([42]));
  });

  it("D9: the watchdog's note names the route while the response to a recheck of a login is processed", async () => {
    const identity = { subject: "s", email: "", name: "", username: "" };
    const noted = await notedIn((seen) => {
      const record = { id: "s", accountId: "ac_1", identity, accessToken: "a", refreshToken: "", idToken: "" };
      const session = { record, checked: seen };
      const method = { renew: () => later({ tokens: {}, identity }) };
      const context = { clock: makeManualClock(), reports: { renewed: seen } };
      return recheckSession(session as never, method as never, 60, context as never);
    });
    assert.deepEqual(noted, [42, 42]);
  });

  it("D9: the watchdog's note is written again after every wait of a module", () => {
    const rooms = ["policy/actions", "policy/parts", "traffic", "traffic/parts", "webhooks", "jose", "identity/guard"];
    /** The code after these waits has a constant cost, whatever the sender chooses. */
    const others = ["policy/parts/change-events.ts"];
    const source = new URL("../", import.meta.url);
    for (const file of rooms.flatMap((room) => readdirSync(new URL(room, source)).map((name) => `${room}/${name}`))) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts") || others.includes(file)) continue;
      const code = readFileSync(new URL(file, source), "utf8").replaceAll(
        /inSameWork\(\s*await |return await |^\s*\*.*$/gm,
        "",
      );
      assert.ok(
        !/\bawait /.test(code),
        `${file}: write "inSameWork(await …)", see captureWork() in src/lib/heartbeat.ts`,
      );
    }
  });
});
