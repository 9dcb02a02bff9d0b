import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { makeFoundMetadata } from "./found-metadata.ts";
import { addressSource } from "./idp-source.ts";
import type { AddressSourceNeeds } from "./idp-source.ts";

const url = "https://id.example/metadata?key=secret";
const hour = 3_600_000;

describe("metadata with an address", () => {
  const sourceOf = (needs: Partial<AddressSourceNeeds> = {}) => {
    const clock = makeManualClock();
    const kept: { doc: Readonly<Record<string, unknown>> | undefined } = { doc: undefined };
    const keep = (goodForMs: number, more: object = {}, validForMs?: number): void => {
      const validUntilMs = validForMs === undefined ? {} : { validUntilMs: clock.now() + validForMs };
      kept.doc = {
        url,
        metadata: JSON.stringify({ entityId: "https://id.example", ...validUntilMs }),
        problem: "",
        fetched_at: formatTimestamp(clock.now()),
        asked_at: formatTimestamp(clock.now()),
        good_until: formatTimestamp(clock.now() + goodForMs),
        ...more,
      };
    };
    const given = { url, kept: () => kept.doc, document: undefined, ask: undefined, clock };
    const source = addressSource({ ...given, ...needs });
    const why = (): Promise<string> =>
      source.get().then(
        ({ entityId }) => entityId,
        (error: unknown) => (error instanceof LoginRefusal ? `${error.reason}: ${error.message}` : String(error)),
      );
    return { clock, kept, keep, source, why };
  };

  it("metadata with an address is valid until the control plane has failed to fetch it for too long, or it expires", async () => {
    const { clock, keep, why } = sourceOf();
    assert.match(await why(), /^saml_metadata: .*was not fetched yet$/);
    keep(hour);
    assert.equal(await why(), "https://id.example");
    clock.pass(hour);
    assert.match(await why(), /not available at its URL for too long/);
    keep(2 * hour, {}, hour);
    assert.equal(await why(), "https://id.example");
    clock.pass(hour);
    assert.match(await why(), /its validUntil has passed/);
  });

  it("metadata with an address reports why it cannot be fetched, without secrets in the address, and warns while an old copy is used", async () => {
    const { keep, why, source } = sourceOf();
    keep(hour, { metadata: "", problem: "it answers 503" });
    assert.equal(await why(), "saml_metadata: there is no metadata from https://id.example/metadata: it answers 503");
    assert.equal(source.warning, undefined);
    keep(hour, { problem: "it answers 503" });
    assert.equal(await why(), "https://id.example");
    assert.match(source.warning ?? "", /was not renewed: it answers 503/);
  });

  it("metadata with an address is awaited if there is none, requested once a minute, and again after half a day", async () => {
    let asked = 0;
    const looked = Promise.withResolvers<void>();
    const given = sourceOf({
      ask: () => {
        asked += 1;
        return looked.promise;
      },
    });
    const { clock, keep, why } = given;
    const waiting = why();
    keep(24 * hour);
    looked.resolve();
    assert.equal(await waiting, "https://id.example");
    await why();
    assert.equal(asked, 1);
    clock.pass(12 * hour - 2_000);
    await why();
    assert.equal(asked, 1);
    clock.pass(3_000);
    await why();
    await why();
    assert.equal(asked, 2, "a minute goes by before the next");
    clock.pass(61_000);
    await why();
    assert.equal(asked, 3);
  });

  it("metadata with an address falls back to the configured document until the address works", async () => {
    const document = {
      known: undefined,
      get: async () => ({ entityId: "https://document.example" }) as never,
    };
    const { keep, why } = sourceOf({ document });
    assert.equal(await why(), "https://document.example");
    keep(hour);
    assert.equal(await why(), "https://id.example");
  });

  it("P1: metadata with an address is used only for its own login, account and address", () => {
    const found = makeFoundMetadata();
    const objectOf = (id: string, accountId: string, at: string) => ({
      kind: "saml_metadata",
      id,
      account_id: accountId,
      revision: 1,
      doc: { asked_by: "route", url: at },
    });
    const [own, moved, theirs] = [
      objectOf("one", "ac_1", url),
      objectOf("two", "ac_1", "https://moved.example"),
      objectOf("three", "ac_2", url),
    ] as const;
    const isHad = (accountId = "ac_1", askedBy = "route", at = url): boolean =>
      found.of(accountId, askedBy, at) !== undefined;
    found.load([own, { ...own, kind: "login_key", id: "four", doc: { asked_by: "other", url } }]);
    assert.deepEqual([isHad(), isHad("ac_2"), isHad("ac_1", "other")], [true, false, false]);
    assert.equal(isHad("ac_1", "route", "https://moved.example"), false, "the route's address is another one now");
    found.change([{ ...theirs, object: theirs }]);
    assert.deepEqual([isHad(), isHad("ac_2")], [true, true]);
    // The new object arrives before the old one is removed.
    found.change([
      { ...moved, object: moved },
      { ...own, object: null },
    ]);
    assert.deepEqual([isHad(), isHad("ac_1", "route", "https://moved.example")], [false, true]);
    found.change([{ ...moved, kind: "login_key", object: null }]);
    assert.equal(isHad("ac_1", "route", "https://moved.example"), true, "an object of another kind");
    found.change([{ ...moved, object: null }]);
    found.load([theirs]);
    assert.deepEqual([isHad("ac_1", "route", "https://moved.example"), isHad("ac_2")], [false, true]);
  });
});
