import assert from "node:assert/strict";
import { it } from "node:test";
import { companyOf } from "./company.ts";
import { sharingKey } from "../tunnels/tunnel.ts";

const session = { credentialId: "cr_1", agentId: "a".repeat(32) };
const request = {
  proto: "https",
  pools: false,
  options: { Compression: {} },
  forwardsTo: "http://localhost:80",
} as const;

/** Whether a tunnel like this may share a name with one of `session` and `request`. */
function may(
  asking: Partial<Parameters<typeof companyOf>[0]>,
  asked: Partial<Parameters<typeof companyOf>[1]> = {},
): boolean {
  const other = companyOf({ ...session, ...asking }, { ...request, ...asked });
  return sharingKey(companyOf(session, request)) === sharingKey(other);
}

it("one agent's sessions share the name of a tunnel only if the tunnels are equal", () => {
  assert.equal(may({}), true);
  assert.equal(may({ agentId: "b".repeat(32) }), false);
  assert.equal(may({ agentId: "" }), false);
  assert.equal(may({ credentialId: "cr_2" }), false);
  assert.equal(may({}, { options: {} }), false);
  assert.equal(may({}, { forwardsTo: "http://localhost:81" }), false);
  assert.equal(may({}, { proto: "tls" }), false);
  assert.equal(may({}, { pools: true }), false);
});

it("a pool shares its name with any agent, and recognises the tunnels of the same agent", () => {
  const pooled = { ...request, pools: true };
  const own = companyOf(session, pooled);
  const other = companyOf({ credentialId: "cr_2", agentId: "" }, { ...pooled, options: {} });
  assert.equal(sharingKey(own), sharingKey(other));
  assert.equal(own?.agent, companyOf(session, pooled)?.agent);
  assert.notEqual(own?.agent, other?.agent);
});
