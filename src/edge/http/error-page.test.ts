import assert from "node:assert/strict";
import { it } from "node:test";
import { catalogue } from "../../lib/errors.ts";
import { defaultLimits } from "./http-context.ts";
import { errorPage } from "./error-page.ts";

it("an error page has the format that the client accepts", () => {
  const type = (accept: string | undefined): string =>
    String(errorPage("no_route", "req_1", accept).headers["content-type"]);
  assert.match(type("text/html,application/xhtml+xml,*/*;q=0.8"), /^text\/html/);
  for (const accept of [undefined, "*/*", "application/json", "application/json, text/html", "text/plain"]) {
    assert.equal(type(accept), "application/json");
  }
});

it("an error page names the limits of the edge", () => {
  const { headTimeoutMs, bodyWindowMs, minBodyBytesPerSecond, maxTargetBytes, maxHeadBytes, maxFields } = defaultLimits;
  const seconds = bodyWindowMs / 1000;
  assert.match(catalogue.request_timeout.fix, new RegExp(`within ${headTimeoutMs / 1000} seconds`));
  assert.match(
    catalogue.request_timeout.fix,
    new RegExp(`${minBodyBytesPerSecond * seconds} bytes in ${seconds} seconds`),
  );
  assert.match(catalogue.uri_too_long.fix, new RegExp(`${maxTargetBytes} bytes`));
  assert.match(catalogue.headers_too_large.fix, new RegExp(`${maxHeadBytes} bytes .* ${maxFields} fields`));
});

it("an error page escapes the detail", () => {
  const detail = "the upstream did not begin its response within 300 s <b>";
  const page = errorPage("upstream_timeout", "req_1", "text/html", detail);
  assert.match(String(page.body), /<p>The upstream did not begin its response within 300 s &lt;b&gt;\.<\/p>/);
  const { details } = JSON.parse(String(errorPage("upstream_timeout", "req_1", undefined, detail).body)) as {
    details: unknown;
  };
  assert.deepEqual(details, { detail, fix: catalogue.upstream_timeout.fix, request_id: "req_1" });
});
