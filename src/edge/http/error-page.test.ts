import assert from "node:assert/strict";
import { it } from "node:test";
import { errorPage } from "./error-page.ts";

it("an error page follows what the client accepts", () => {
  const type = (accept: string | undefined): string =>
    String(errorPage("no_route", "req_1", accept).headers["content-type"]);
  assert.match(type("text/html,application/xhtml+xml,*/*;q=0.8"), /^text\/html/);
  for (const accept of [undefined, "*/*", "application/json", "application/json, text/html", "text/plain"]) {
    assert.equal(type(accept), "application/json");
  }
});
