import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { accessField, accessLogPlace, loggedHeader } from "./access-log.ts";

describe("header fields of the access log", () => {
  for (const name of [
    "Authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "ocp-apim-subscription-key",
    "x-auth",
    "x-forwarded-access-token",
    "x-csrf-token",
    "x-goog-iap-jwt-assertion",
    "x-hub-signature-256",
    "x-password",
  ]) {
    it(`K4: the access log rejects ${name}`, () => {
      assert.throws(() => loggedHeader.parse(name), /carries credentials/);
    });
  }

  it("the access log accepts other names in any case, and nothing that is not a name", () => {
    const names = ["X-Request-Id", "accept-language", "x-author", "sec-ch-ua"];
    assert.deepEqual(names.map(loggedHeader.parse), ["x-request-id", "accept-language", "x-author", "sec-ch-ua"]);
    assert.throws(() => loggedHeader.parse("two words"), /name of a header field/);
  });

  it("the access log names its fields when it rejects one, and needs a file name", () => {
    assert.equal(accessField.parse("duration_ms"), "duration_ms");
    assert.throws(() => accessField.parse("latency"), /must be one of time, id, source/);
    assert.throws(() => accessLogPlace.parse(""), /standard output/);
    assert.equal(accessLogPlace.parse("-"), "-");
  });
});
