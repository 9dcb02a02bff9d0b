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

/** Whether a tunnel like this may have a name together with one of `session` and `request`. */
function may(
  asking: Partial<Parameters<typeof companyOf>[0]>,
  asked: Partial<Parameters<typeof companyOf>[1]> = {},
): boolean {
  const other = companyOf({ ...session, ...asking }, { ...request, ...asked });
  return sharingKey(companyOf(session, request)) === sharingKey(other);
}

it("company is kept by the sessions of one agent for one tunnel, and by nothing that differs", () => {
  assert.equal(may({}), true);
  assert.equal(may({ agentId: "b".repeat(32) }), false);
  assert.equal(may({ agentId: "" }), false);
  assert.equal(may({ credentialId: "cr_2" }), false);
  assert.equal(may({}, { options: {} }), false);
  assert.equal(may({}, { forwardsTo: "http://localhost:81" }), false);
  assert.equal(may({}, { proto: "tls" }), false);
  assert.equal(may({}, { pools: true }), false);
});

it("company is kept within a pool whoever asks for it, and an agent's own are known there", () => {
  const pooled = { ...request, pools: true };
  const own = companyOf(session, pooled);
  const other = companyOf({ credentialId: "cr_2", agentId: "" }, { ...pooled, options: {} });
  assert.equal(sharingKey(own), sharingKey(other));
  assert.equal(own?.agent, companyOf(session, pooled)?.agent);
  assert.notEqual(own?.agent, other?.agent);
});
