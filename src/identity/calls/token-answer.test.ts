import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LoginRefusal } from "./identity.ts";
import { tokenAnswer } from "./token-answer.ts";

const good = { access_token: "at", token_type: "Bearer", refresh_token: "rt", id_token: "it" };

function reasonOf(change: object, status = 200, grant: "code" | "refresh" = "code"): string {
  try {
    tokenAnswer({ status, json: { ...good, ...change }, list: undefined } as never, ["openid"], grant);
    return "taken";
  } catch (error) {
    return error instanceof LoginRefusal ? error.reason : String(error);
  }
}

describe("a token response", () => {
  it("I1: a token response must contain a bearer token of visible ASCII that fits into a header field", () => {
    for (const token_type of [undefined, "bearer", "Bearer", "BEARER"]) assert.equal(reasonOf({ token_type }), "taken");
    for (const token_type of ["mac", "DPoP", "Basic", "bearer "]) {
      assert.equal(reasonOf({ token_type }), "login_exchange_failed", token_type);
    }
    const room = 16 * 1024;
    for (const odd of ["a b", "a\r\nb: c", "a\0", "ä", "a".repeat(room + 1)]) {
      assert.equal(reasonOf({ access_token: odd }), "login_exchange_failed", odd.slice(0, 10));
      assert.equal(reasonOf({ refresh_token: odd }), "login_exchange_failed", odd.slice(0, 10));
    }
    for (const none of [undefined, null, "", 1, ["at"], {}]) {
      assert.equal(reasonOf({ access_token: none }), "login_exchange_failed", JSON.stringify(none));
    }
    assert.equal(reasonOf({ access_token: "a".repeat(room), refresh_token: undefined }), "taken");
  });

  it("I1: a token response is a refusal if it says so or its status says so", () => {
    for (const status of [200, 201, 400]) {
      assert.equal(reasonOf({ error: "invalid_grant" }, status), "login_exchange_failed");
      assert.equal(reasonOf({ error: "invalid_grant" }, status, "refresh"), "login_withdrawn");
      assert.equal(reasonOf({ error: { message: "no" } }, status), "login_exchange_failed");
    }
    for (const status of [202, 204, 400, 401, 404]) assert.equal(reasonOf({}, status), "login_exchange_failed");
    for (const error of [undefined, null, ""]) assert.equal(reasonOf({ error }), "taken");
    for (const error of ["constructor", "__proto__", "toString"]) {
      assert.equal(reasonOf({ error }), "login_exchange_failed", error);
    }
  });
});
