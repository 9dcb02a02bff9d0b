import assert from "node:assert/strict";
import { it } from "node:test";
import { errorPage } from "./error-page.ts";
import { newRequestId } from "./request-id.ts";

it("an error page follows what the client accepts", () => {
  const type = (accept: string | undefined): string =>
    String(errorPage("no_route", "req_1", accept).headers["content-type"]);
  assert.match(type("text/html,application/xhtml+xml,*/*;q=0.8"), /^text\/html/);
  for (const accept of [undefined, "*/*", "application/json", "application/json, text/html", "text/plain"]) {
    assert.equal(type(accept), "application/json");
  }
});

it("request ids have the form of all ids, sort by time, and differ", () => {
  const ids = Array.from({ length: 5000 }, (_, index) => newRequestId(1_800_000_000_000 + Math.floor(index / 1000)));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^req_[0-9a-z]{27}$/);
  assert.ok((ids[0] as string) < (ids[4999] as string));
});
