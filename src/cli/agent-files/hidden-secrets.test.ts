import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withoutSecrets } from "./hidden-secrets.ts";

describe("the secrets of agent files", () => {
  it("the header fields for a collector are hidden in output", () => {
    const shown = withoutSecrets("+ otlp_endpoint: http://c\n+ otlp_headers: authorization=Bearer%20canary");
    assert.equal(shown, "+ otlp_endpoint: http://c\n+ otlp_headers: ***");
  });
});
