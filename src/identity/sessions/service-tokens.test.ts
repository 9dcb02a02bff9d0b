import assert from "node:assert/strict";
import { it } from "node:test";
import { hashToken, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { makeServiceTokens } from "./service-tokens.ts";

const hashOf = (token: string): string => hashToken(token).toString("hex");
const at = (ms: number): string => new Date(ms).toISOString();

function objectOf(token: string, more: object = {}, id = "svctok_1"): ResourceObject {
  const doc = {
    name: "m",
    token_hash: hashOf(token),
    acl: ["app.example.com/api", "*.wild.example.com", "edghtsrt_1"],
    scopes: [],
    expires_at: null,
    previous_token_hash: "",
    previous_expires_at: null,
    ...more,
  };
  return { kind: "service_token", id, account_id: "ac_1", revision: 1, doc };
}

const token = (): string => newToken(tokenPrefixes.service);

it("I10: a service token is found by its text alone, and no more once it is deleted or missing from a snapshot", () => {
  let sweeps = 0;
  const tokens = makeServiceTokens(makeManualClock(), () => (sweeps += 1));
  const [one, other] = [token(), token()];
  tokens.load([objectOf(one), objectOf(other, {}, "svctok_2")]);
  const found = tokens.find(one);
  assert.equal(found?.machine.id, "svctok_1");
  assert.equal(tokens.find(one), found, "also when it was seen before");
  assert.equal(tokens.find(hashOf(one)), undefined);
  tokens.change("svctok_1", null);
  assert.deepEqual([found?.ended, tokens.find(one)], [true, undefined]);
  tokens.load([]);
  assert.equal(tokens.find(other), undefined);
  assert.equal(sweeps, 3);
  tokens.stop();
});

it("I10: a service token expires by either clock, and a replaced one at the end of its grace", () => {
  const clock = makeManualClock();
  const tokens = makeServiceTokens(clock, () => {});
  const [one, next] = [token(), token()];
  tokens.load([objectOf(one, { expires_at: at(clock.now() + 60_000) })]);
  const found = tokens.find(one);
  assert.equal(found?.isBeyond(clock), false);
  const rotated = { previous_token_hash: hashOf(one), previous_expires_at: at(clock.now() + 10_000) };
  tokens.change("svctok_1", objectOf(next, { ...rotated, expires_at: at(clock.now() + 60_000) }));
  assert.equal(tokens.find(one), found, "open requests of the same token continue");
  clock.pass(9_000);
  assert.deepEqual([tokens.find(one)?.isBeyond(clock), tokens.find(next)?.isBeyond(clock)], [false, false]);
  clock.pass(2_000);
  assert.deepEqual([tokens.find(one)?.isBeyond(clock), tokens.find(next)?.isBeyond(clock)], [true, false]);
  clock.pass(50_000);
  assert.equal(tokens.find(next)?.isBeyond(clock), true);
  tokens.stop();
});

it("I10: a service token reaches the hosts, paths and routes of its acl, compared whole", () => {
  const tokens = makeServiceTokens(makeManualClock(), () => {});
  const one = token();
  tokens.load([objectOf(one)]);
  const machine = tokens.find(one)?.machine;
  const reaches = (host: string, path: string, owner = "edghtsrt_2"): boolean =>
    machine?.reaches(owner, host, path) === true;
  for (const [host, path] of [
    ["app.example.com", "/api"],
    ["app.example.com", "/api/x"],
    ["a.b.wild.example.com", "/"],
  ] as const) {
    assert.ok(reaches(host, path), host + path);
  }
  for (const [host, path] of [
    ["app.example.com", "/"],
    ["app.example.com", "/apix"],
    ["wild.example.com", "/"],
    ["evilwild.example.com", "/"],
    ["app.example.com.evil.example", "/api"],
  ] as const) {
    assert.ok(!reaches(host, path), host + path);
  }
  assert.ok(reaches("any.example", "/", "edghtsrt_1"));
  assert.ok(!reaches("any.example", "/", "edghtsrt_11"));
  tokens.stop();
});
