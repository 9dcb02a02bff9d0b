import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { DirectoryNews } from "../../directory/news.ts";
import type { PresenceFollower } from "../../storage/cluster/presence.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { NodeEntries } from "./node-entries.ts";

const recorded = JSON.parse(readFileSync("test/support/earlier-node.json", "utf8")) as Record<string, { what: string }>;
const idOf = (kind: string): string => Object.entries(recorded).find(([, { what }]) => what === kind)?.[0] ?? "";

/** A node whose agents use the token `cr_1`. */
function start() {
  let follower: PresenceFollower | undefined;
  const revoked = new Set<string>();
  const told: DirectoryNews[] = [];
  const entries = new NodeEntries({
    presence: { follow: (given) => void (follower = given) },
    relay() {},
    heard() {},
    isThere: async () => true,
    isRevoked: (_accountId, credentialId) => revoked.has(credentialId),
    clock: makeManualClock(),
  });
  entries.follow(
    (news) => void told.push(...news),
    () => {},
  );
  const hear: PresenceFollower["heard"] = (all) => follower?.heard(all);
  hear(Object.entries(recorded).map(([id, entry]) => ({ what: "put", id, node: "n", body: JSON.stringify(entry) })));
  return {
    entries,
    revoked,
    told,
    lapse: () => hear(Object.keys(recorded).map((id) => ({ what: "lapsed", id }))),
    has: () => ["session", "tunnel"].map((kind) => entries.agents.has(idOf(kind))),
  };
}

describe("entries of a node that is cut off from the database", () => {
  it("entries of a node that is cut off stay in use, and end when their token is revoked", () => {
    const { entries, revoked, told, lapse, has } = start();
    lapse();
    entries.endRevoked();
    assert.deepEqual(has(), [true, true]);
    revoked.add("cr_1");
    entries.endRevoked();
    assert.deepEqual(has(), [false, false]);
    assert.deepEqual(
      told.flatMap(({ what }) => (what.endsWith("_closed") ? [what] : [])),
      ["tunnel_closed", "tunnel_closed", "session_closed"],
    );
  });

  it("entries of a node that is cut off after their token was revoked end immediately", () => {
    const { entries, revoked, lapse, has } = start();
    revoked.add("cr_1");
    entries.endRevoked();
    assert.deepEqual(has(), [true, true], "a node with the database ends its own agents");
    lapse();
    assert.deepEqual(has(), [false, false]);
  });
});
