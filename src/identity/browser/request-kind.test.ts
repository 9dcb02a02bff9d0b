import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { requestKind } from "./request-kind.ts";

const html = "text/html,application/xhtml+xml,*/*;q=0.8";
const navigated = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", accept: html };
const form = "application/x-www-form-urlencoded";

/** Each row has the one property that determines its kind. Without it, the request is another row. */
const rows: readonly (readonly [kind: string, method: string, headers: Readonly<Record<string, string>>])[] = [
  ["navigation", "GET", {}],
  ["navigation", "HEAD", {}],
  ["navigation", "GET", { accept: html }],
  ["navigation", "GET", { accept: "*/*" }],
  ["navigation", "GET", navigated],
  ["navigation", "HEAD", navigated],
  ["program", "OPTIONS", navigated],
  ["program", "GET", { ...navigated, "sec-fetch-mode": "cors" }],
  ["program", "GET", { ...navigated, "sec-fetch-mode": "no-cors" }],
  ["program", "GET", { accept: html, "sec-fetch-dest": "image" }],
  ["program", "GET", { accept: html, "sec-fetch-site": "same-origin" }],
  ["program", "GET", { ...navigated, accept: `text/event-stream,${html}` }],
  ["program", "GET", { ...navigated, "sec-purpose": "prefetch" }],
  ["program", "GET", { ...navigated, "sec-purpose": "prefetch;prerender" }],
  ["program", "GET", { ...navigated, purpose: "preview" }],
  ["program", "GET", { accept: html, "x-moz": "prefetch" }],
  ["program", "GET", { accept: html, "x-requested-with": "XMLHttpRequest" }],
  ["program", "GET", { accept: "application/json" }],
  ["program", "GET", { accept: "application/json,text/html;q=0.5" }],
  ["program", "GET", { accept: "image/png" }],
  ["navigation", "GET", { accept: "text/html,application/json;q=0.5" }],
  ["framed", "GET", { ...navigated, "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" }],
  ["framed", "GET", { ...navigated, "sec-fetch-dest": "embed" }],
  ["navigation", "GET", { ...navigated, "sec-fetch-dest": "iframe", "sec-fetch-site": "same-origin" }],
  ["form", "POST", navigated],
  ["form", "POST", { accept: html, "content-type": form }],
  ["program", "POST", { accept: html, "content-type": "application/json" }],
  ["program", "POST", { accept: "*/*", "content-type": form }],
  ["program", "DELETE", {}],
];

describe("a request without a session", () => {
  it("only a navigation without a session is redirected to the login", () => {
    for (const [kind, method, headers] of rows) {
      assert.equal(requestKind(exchangeOf({ method, headers }).request), kind, `${method} ${JSON.stringify(headers)}`);
    }
    const { request } = exchangeOf({ headers: navigated });
    assert.equal(requestKind({ ...request, websocket: true } as never), "program");
  });
});
