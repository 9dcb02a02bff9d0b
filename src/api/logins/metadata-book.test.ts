import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { openServerStore } from "../../../test/support/store.ts";
import type { ServerStore } from "../../../test/support/store.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { IdpMetadata } from "../../identity/saml/metadata/idp-metadata.ts";
import { askerOf, makeMetadataBook } from "./metadata-book.ts";
import type { MetadataAsker, MetadataBook } from "./metadata-book.ts";
import { makeMetadataLook } from "./metadata-look.ts";
import { dayMs } from "../../lib/durations.ts";

const kinds: ReadonlySet<string> = new Set(["saml_metadata"]);
const url = "https://id.example/metadata";
const metadata: IdpMetadata = {
  entityId: "https://id.example",
  signOn: {},
  signOut: {},
  certificates: ["AAAA"],
  warnings: [],
};

describe("book of metadata with an address", () => {
  const clock = makeManualClock(Date.UTC(2026, 0, 2));
  let server: ServerStore;
  let book: MetadataBook;
  let isCurrent = true;
  before(async () => {
    server = await openServerStore(clock);
    book = makeMetadataBook(server.store, clock, () => isCurrent);
  });
  after(() => server.stop());
  let names = 0;
  /** The asker is a rule or an agent, so no route has to exist. */
  const newAsker = (more: Partial<MetadataAsker> = {}): MetadataAsker => {
    names += 1;
    const askedBy = `app${names}.example.com-abcdefgh`;
    return { accountId: server.accountId, askedBy, url, document: "", askedAt: clock.now(), ...more };
  };
  const docOf = ({ askedBy }: MetadataAsker) =>
    Array.from(server.store.objects(kinds)).find(({ doc }) => doc["asked_by"] === askedBy)?.doc;
  const commits = (): number => server.store.commits;

  it("book of metadata with an address stores the last usable version for a week at most, not beyond its expiry, and writes only changes", async () => {
    const asker = newAsker();
    assert.equal(book.goodOf(asker), undefined);
    assert.equal(await book.keep(asker, metadata, '"1"'), true);
    const { asked_at, good_until, fetched_at, entity_id } = docOf(asker) ?? {};
    assert.deepEqual(
      [asked_at, fetched_at, good_until, entity_id],
      [
        formatTimestamp(clock.now()),
        formatTimestamp(clock.now()),
        formatTimestamp(clock.now() + 7 * dayMs),
        "https://id.example",
      ],
    );
    const before = commits();
    clock.pass(dayMs);
    assert.equal(await book.keep(asker, metadata, '"1"'), false);
    assert.equal(commits(), before, "the same, seen within the day");
    assert.equal(await book.keep(asker, metadata, '"2"'), false);
    assert.deepEqual([docOf(asker)?.["etag"], docOf(asker)?.["fetched_at"]], ['"2"', formatTimestamp(clock.now())]);
    clock.pass(dayMs + 1_000);
    assert.equal(await book.keep(asker, metadata, '"2"'), false);
    assert.equal(docOf(asker)?.["good_until"], formatTimestamp(clock.now() + 7 * dayMs), "seen again");
    const [soon, late] = [clock.now() + dayMs, clock.now() + 30 * dayMs];
    assert.equal(await book.keep(asker, { ...metadata, validUntilMs: soon }, '"3"'), true);
    assert.equal(docOf(asker)?.["good_until"], formatTimestamp(soon));
    await book.keep(asker, { ...metadata, validUntilMs: late }, '"4"');
    assert.equal(docOf(asker)?.["good_until"], formatTimestamp(clock.now() + 7 * dayMs));
  });

  it("S7: book of metadata with an address corrects dates in the future that a clock ahead has written", async () => {
    const asker = newAsker();
    clock.step(400 * dayMs);
    await book.keep(asker, metadata, '"1"');
    clock.pass(3_600_000);
    clock.step(-400 * dayMs);
    assert.equal(await book.keep(asker, metadata, '"1"'), false);
    const { fetched_at, good_until } = docOf(asker) ?? {};
    assert.deepEqual(
      [fetched_at, good_until],
      [formatTimestamp(clock.now()), formatTimestamp(clock.now() + 7 * dayMs)],
    );
  });

  it("book of metadata with an address stores a problem beside the usable version, once, until it is fixed", async () => {
    const asker = newAsker();
    await book.keepProblem(asker, "it answers 503");
    assert.equal(book.goodOf(asker), undefined);
    assert.deepEqual([docOf(asker)?.["problem"], docOf(asker)?.["metadata"]], ["it answers 503", ""]);
    await book.keep(asker, metadata, '"1"');
    const seen = docOf(asker)?.["fetched_at"];
    clock.pass(60_000);
    await book.keepProblem(asker, "it answers 503");
    assert.ok(book.goodOf(asker));
    assert.deepEqual([docOf(asker)?.["problem"], docOf(asker)?.["fetched_at"]], ["it answers 503", seen]);
    const before = commits();
    await book.keepProblem(asker, "it answers 503");
    assert.equal(commits(), before);
    assert.equal(await book.keep(asker, metadata, '"1"'), false);
    assert.equal(docOf(asker)?.["problem"], "");
  });

  it("book of metadata with an address returns nothing for a login whose address has changed, and deletes it with the login", async () => {
    const asker = newAsker();
    const moved = { ...asker, url: "https://moved.example" };
    await book.keep(asker, metadata, '"1"');
    assert.equal(book.goodOf(moved), undefined);
    await book.keepProblem(moved, "it answers 404");
    assert.deepEqual([docOf(asker)?.["url"], docOf(asker)?.["metadata"]], [moved.url, ""]);
    assert.equal(book.goodOf(asker), undefined);
    await book.forget(asker.accountId, asker.askedBy);
    assert.equal(docOf(asker), undefined);
    const before = commits();
    await book.forget(asker.accountId, asker.askedBy);
    assert.equal(commits(), before);
  });

  it("book of metadata with an address rejects metadata for a login that was deleted or changed its address meanwhile", async () => {
    const asker = newAsker();
    isCurrent = false;
    await book.keep(asker, metadata, '"1"');
    isCurrent = true;
    const ofRoute = newAsker({ askedBy: "edghtsrt_gone", askedAt: undefined });
    await book.keep(ofRoute, metadata, '"1"');
    assert.deepEqual([docOf(asker), docOf(ofRoute)], [undefined, undefined]);
  });

  it("book of metadata with an address shows askers without a route and their last request", async () => {
    const asker = newAsker({ document: "<a/>" });
    await book.keepAsked(asker);
    assert.equal(docOf(asker), undefined, "nothing is kept of it");
    await book.keep(asker, metadata, '"1"');
    clock.pass(60_000);
    const again = { ...asker, askedAt: clock.now() };
    await book.keepAsked(again);
    await book.keepAsked({ ...asker, askedAt: undefined });
    const [row] = Array.from(server.store.objects(kinds)).filter(({ doc }) => doc["asked_by"] === asker.askedBy);
    assert.ok(row && book.goodOf(asker));
    assert.deepEqual(askerOf(row), again);
    assert.equal(askerOf({ ...row, doc: { ...row.doc, asked_at: "" } }), undefined);
  });

  it("looks at metadata accept the same provider, identified by the known metadata or by the document beside it", async () => {
    let found: { readonly text: string; readonly etag: string } | "unchanged" = { text: "own", etag: '"1"' };
    const known: string[] = [];
    const read: Readonly<Record<string, IdpMetadata>> = {
      own: metadata,
      often: { ...metadata, cacheSeconds: 600 },
      theirs: { ...metadata, entityId: "https://other.example" },
    };
    const call = async (_name: string, { text }: { readonly text: string }) =>
      read[text] ? { metadata: read[text] } : { refused: { reason: `"${text}" is none` } };
    const look = makeMetadataLook({
      clock,
      book,
      fetch: { get: async (_url, etag) => (known.push(etag), found), close: () => {} },
      worker: { call, stop: async () => {} } as never,
    });
    const asker = newAsker();
    const serve = (text: string): void => void (found = { text, etag: '"1"' });
    found = "unchanged";
    await assert.rejects(look(asker), /304 to a request without an ETag/);
    serve("own");
    assert.deepEqual(await look(asker), { isNew: true, againMs: 3_600_000 });
    found = "unchanged";
    assert.deepEqual(await look(asker), { isNew: false, againMs: 3_600_000 });
    serve("often");
    assert.deepEqual(await look(asker), { isNew: true, againMs: 600_000 });
    assert.deepEqual(known, ["", "", '"1"', '"1"']);
    serve("theirs");
    await assert.rejects(look(asker), /"https:\/\/other\.example" instead of "https:\/\/id\.example"/);
    serve("junk");
    await assert.rejects(look(asker), /"junk" is none/);
    assert.ok(book.goodOf(asker), "what was good stays");
    serve("theirs");
    await assert.rejects(look(newAsker({ document: "own" })), /instead of "https:\/\/id\.example"/);
    assert.equal((await look(newAsker({ document: "theirs" }))).isNew, true);
    assert.equal(
      (await look(newAsker({ document: "junk" }))).isNew,
      true,
      "a document that says nothing expects nothing",
    );
    assert.equal((await look(newAsker())).isNew, true);
  });
});
