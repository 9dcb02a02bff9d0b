import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FieldBlock } from "../lib/field-block.ts";
import type { HeaderFields } from "../traffic/header-fields.ts";
import { emptyFields, FieldTable } from "./field-table.ts";
import { findKnownField, knownNames } from "./known-fields.ts";
import { readFields } from "./read-fields.ts";

function tableOf(text: string): FieldTable {
  const bytes = Buffer.from(text, "latin1");
  const table = new FieldTable(bytes, 50);
  assert.equal(readFields(table, 0, bytes.length, 50), bytes.length);
  return table;
}

function written(table: FieldTable): string {
  const target = Buffer.alloc(table.byteBound);
  return target.toString("latin1", 0, table.write(target, 0));
}

describe("a field table", () => {
  it("a field table copies unchanged lines as received", () => {
    assert.equal(
      written(tableOf("Host: a\r\nX-One: b\r\nCookie: c=d; e\r\n\r\n")),
      "Host: a\r\nX-One: b\r\nCookie: c=d; e\r\n",
    );
  });

  it("W1: a field table rewrites lines that do not have the usual form", () => {
    assert.equal(written(tableOf("A:b\r\nC: \t d \t \r\nE:\r\nF: g\r\n\r\n")), "A: b\r\nC: d\r\nE: \r\nF: g\r\n");
  });

  it("a field table that owns its memory has the same content, and no longer refers to the received bytes", () => {
    const text = "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nA:b\r\nGone: 2\r\nCookie: c=d\r\n\r\n";
    const bytes = Buffer.from(text.padEnd(65_536), "latin1");
    const start = text.indexOf("Host");
    const make = (): FieldTable => {
      const table = new FieldTable(bytes, 50);
      assert.ok(readFields(table, start, bytes.length, 50) > 0);
      table.delete("gone");
      table.append("added", "3");
      return table;
    };
    const [shared, own] = [make(), make()];
    own.own();
    own.own();
    assert.ok(own.bytes.buffer.byteLength < 64);
    assert.equal(written(own), written(shared));
    assert.deepEqual(own.entries(), shared.entries());
    assert.deepEqual([own.get("cookie"), own.getAll("x"), own.has("gone")], ["c=d", ["1"], false]);
    own.set("x", "4");
    assert.equal(own.get("x"), "4");
    const empty = emptyFields();
    empty.own();
    empty.append("a", "b");
    assert.equal(written(empty), "a: b\r\n");
  });

  it("a field table omits deleted fields, wherever they are", () => {
    for (const gone of ["a", "b", "c"]) {
      const table = tableOf("A: 1\r\nB: 2\r\nC: 3\r\n\r\n");
      table.delete(gone.toUpperCase());
      assert.equal(table.has(gone), false);
      assert.equal(
        written(table),
        ["A: 1\r\n", "B: 2\r\n", "C: 3\r\n"].filter((line) => !line.startsWith(gone.toUpperCase())).join(""),
      );
    }
  });

  it("a field table replaces every value of a name, and appends new values after them", () => {
    const table: HeaderFields & FieldTable = tableOf("X: 1\r\nY: 2\r\nx: 3\r\n\r\n");
    table.set("X", "4");
    table.append("x", "5");
    assert.deepEqual(table.getAll("x"), ["4", "5"]);
    assert.equal(written(table), "Y: 2\r\nx: 4\r\nx: 5\r\n");
    table.delete("x");
    assert.equal(table.get("x"), undefined);
    assert.deepEqual(table.entries(), [["y", "2"]]);
  });

  it("a field table treats the fields of a block like any others, and puts them before added fields", () => {
    const fresh = (): FieldTable => {
      const table = tableOf("X: 1\r\n\r\n");
      table.append("after", "2");
      table.appendBlock(new FieldBlock(["One", "a", "two", "b", "one", "c"]));
      return table;
    };
    const whole = fresh();
    assert.equal(written(whole), "X: 1\r\none: a\r\ntwo: b\r\none: c\r\nafter: 2\r\n");
    assert.deepEqual([whole.get("ONE"), whole.has("two"), whole.has("three")], ["a", true, false]);
    assert.deepEqual(whole.getAll("One"), ["a", "c"]);
    assert.deepEqual(
      whole.entries().map(([name]) => name),
      ["x", "one", "two", "one", "after"],
    );
    const less = fresh();
    less.delete("One");
    assert.equal(written(less), "X: 1\r\ntwo: b\r\nafter: 2\r\n");
    const changed = fresh();
    changed.set("two", "d");
    assert.equal(written(changed), "X: 1\r\none: a\r\none: c\r\nafter: 2\r\ntwo: d\r\n");
    const more = fresh();
    more.appendBlock(new FieldBlock(["three", "e"]));
    assert.equal(written(more), "X: 1\r\none: a\r\ntwo: b\r\none: c\r\nafter: 2\r\nthree: e\r\n");
  });

  it("P4: a field table rejects names and values that would break the message", () => {
    const fields = emptyFields();
    for (const value of ["a\r\nB: c", "a\nb", "a\0", "a\rb", " a", "a ", "a\u0100"]) {
      assert.throws(() => fields.append("x", value), value);
      assert.throws(() => fields.set("x", value), value);
    }
    for (const name of ["", "a b", "a:", "a\r\n", "é"]) assert.throws(() => fields.append(name, "a"), name);
    assert.deepEqual(fields.entries(), []);
  });

  it("field tables that were read one after the other stay separate", () => {
    const tables = Array.from({ length: 3000 }, (_, index) => tableOf(`Host: h${index}\r\nX: ${index}\r\n\r\n`));
    for (const [index, table] of tables.entries()) {
      assert.deepEqual(table.entries(), [
        ["host", `h${index}`],
        ["x", String(index)],
      ]);
    }
  });

  it("a field table finds its names in any case, and no other names", () => {
    for (const [id, name] of knownNames.entries()) {
      if (id === 0) continue;
      for (const text of [name, name.toUpperCase()]) {
        assert.equal(findKnownField(Buffer.from(`..${text}..`), 2, 2 + text.length), id);
      }
      assert.equal(findKnownField(Buffer.from(`${name}x`), 0, name.length + 1), 0);
    }
    for (const name of ["a", "ab", "cookie", "accept", "x-forwarded-fox"]) {
      assert.equal(findKnownField(Buffer.from(name), 0, name.length), 0);
    }
  });
});
