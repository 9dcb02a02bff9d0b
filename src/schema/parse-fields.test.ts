import assert from "node:assert/strict";
import { test } from "node:test";
import { f, notes } from "./fields.ts";
import { parseFields } from "./parse-fields.ts";
import { findReferences } from "./references.ts";
import { renderFields } from "./render-fields.ts";

const fields = {
  ...notes,
  name: f.string("Name.", { required: true }),
  size: f.uint32("Size.", { min: 1, max: 9, default: 3, zeroIsUnset: true }),
  kind: f.oneOf("Kind.", ["a", "b"], { default: "a" }),
  fixed: f.string("Fixed.", { immutable: true }),
  hash: f.string("Hash.", { internal: true }),
  seen: f.timestamp("Seen.", { readOnly: true }),
  password: f.string("Password.", { secret: true, maxBytes: 4 }),
  owner: f.ref("Owner.", { to: "bot", input: "owner_id" }),
  members: f.map("Members.", f.uint32("Weight."), { keysTo: ["bot"], keepIfEmpty: true }),
  block: f.object(
    "Block.",
    { on: f.boolean("On.", { default: true }), bots: f.refList("Bots.", { to: "bot", input: "bot_ids" }) },
    { nullable: true },
  ),
  matching: f.refList("Matching.", { to: "bot", input: "matching" }, { live: true }),
};
const create = (body: Record<string, unknown>) => parseFields(fields, body, "create");
const context = { uriOf: (id: string) => `/${id}`, children: () => [], live: { matching: ["x"] }, redact: false };

test("a document is complete: every stored field has a value", () => {
  const { doc, issues } = create({ name: "n" });
  assert.deepEqual(issues, []);
  assert.deepEqual(doc, {
    description: "",
    metadata: "",
    name: "n",
    size: 3,
    kind: "a",
    fixed: "",
    hash: "",
    seen: null,
    password: "",
    owner_id: null,
    members: {},
    block: null,
  });
});

test("fields that the server sets are ignored in input where responses contain them, and unknown elsewhere", () => {
  const { doc, issues } = create({ name: "n", seen: "yesterday", matching: 1, hash: "x" });
  assert.equal(doc["seen"], null);
  assert.deepEqual(
    issues.map(({ path, reason }) => [path, reason]),
    [["hash", "unknown_field"]],
  );
});

test("a change keeps omitted fields, and empty ones where empty means omitted", () => {
  const previous = { ...create({ name: "n", members: { b: 1 } }).doc, hash: "h", fixed: "f" };
  const { doc, issues } = parseFields(fields, { description: "d", members: {}, size: 0 }, "update", previous);
  assert.deepEqual(issues, []);
  assert.deepEqual(doc, { ...previous, description: "d" });
  const fixed = parseFields(fields, { fixed: "g" }, "update", previous);
  assert.deepEqual(
    fixed.issues.map(({ path }) => path),
    ["fixed"],
  );
});

test("a message repeats the value, unless it is a secret", () => {
  const { issues } = create({ name: 7, kind: "hunter2", password: ["hunter2"] });
  assert.match(issues.find(({ path }) => path === "kind")?.message ?? "", /is "hunter2"/);
  assert.doesNotMatch(issues.find(({ path }) => path === "password")?.message ?? "x", /hunter2|list/);
});

test("references are found everywhere, and rendered as Refs", () => {
  const { doc } = create({ name: "n", owner_id: "b1", members: { b2: 1 }, block: { bot_ids: ["b3"] } });
  assert.deepEqual(
    findReferences(fields, doc).map(({ path, id }) => [path, id]),
    [
      ["owner_id", "b1"],
      ["members.b2", "b2"],
      ["block.bot_ids[0]", "b3"],
    ],
  );
  const view = renderFields(fields, doc, context);
  assert.deepEqual(view["owner"], { id: "b1", uri: "/b1" });
  assert.deepEqual(view["block"], { on: true, bots: [{ id: "b3", uri: "/b3" }] });
  assert.deepEqual(view["matching"], [{ id: "x", uri: "/x" }]);
  assert.ok(!("hash" in view) && !("owner_id" in view));
});

test("K4: secrets are masked for callers without access", () => {
  const { doc } = create({ name: "n", password: "abcd" });
  assert.equal(renderFields(fields, doc, context)["password"], "abcd");
  assert.equal(renderFields(fields, doc, { ...context, redact: true })["password"], "***");
});
