import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf, runRequest } from "../../test/support/exchange.ts";
import { routeWith } from "../../test/support/routing.ts";
import { beat, newHeart, workOf, workOn } from "../lib/heartbeat.ts";

const replaces = [{ type: "request-body-find-replace", config: { replacements: [{ from: "a", to: "b" }] } }];
/** The action waits for the body; both rules behind it are decided later. */
const asks = { expressions: ["req.method == 'PUT'"], actions: [{ type: "deny" }] };

describe("the watchdog's note of what a thread works on", () => {
  it("D9: names the route while rules run after an action that waited", async () => {
    const heart = newHeart();
    beat(heart);
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
});
