import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catalogue, Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";
import { parseWireError, renderWireError } from "./wire-error.ts";

describe("an error on the wire", () => {
  it("an error on the wire has the form from which SDKs read a code", () => {
    const text = renderWireError(new Refusal("agent_token_unknown", "no\nsuch token"));
    assert.equal(text, "no\nsuch token\n\nERR_NGROK_107\n");
  });

  it("an error on the wire is parsed back to the same refusal, for every entry of the catalogue", () => {
    for (const reason of Object.keys(catalogue) as RefusalName[]) {
      const back = parseWireError(renderWireError(new Refusal(reason)));
      assert.ok(back instanceof Refusal);
      assert.deepEqual([back.reason, back.message], [reason, catalogue[reason].what]);
    }
  });

  it("an error on the wire is preserved whole if its code is unknown or absent", () => {
    for (const text of ["just words", "words\n\nERR_NGROK_99999\n", ""]) {
      const back = parseWireError(text);
      assert.ok(!(back instanceof Refusal));
      assert.equal(back.message, text);
    }
  });
});
