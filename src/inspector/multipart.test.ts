import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readParts } from "./multipart.ts";

async function encoded(form: FormData): Promise<{ type: string; body: Buffer }> {
  const request = new Request("http://a.example", { method: "POST", body: form });
  return { type: request.headers.get("content-type") ?? "", body: Buffer.from(await request.arrayBuffer()) };
}

describe("form parts", () => {
  it("parts have names, file names, types and sizes, and their text if they are text", async () => {
    const form = new FormData();
    form.set("note", "two\r\nlines");
    form.set("photo", new Blob([Buffer.from([0xff, 0xd8, 0, 1])], { type: "image/jpeg" }), 'a "b".jpg');
    form.set("table", new Blob(["a,b\n"], { type: "text/csv" }), "t.csv");
    const { type, body } = await encoded(form);
    assert.deepEqual(readParts(body, type), [
      { name: "note", fileName: undefined, type: "", bytes: 10, text: "two\r\nlines", isCut: false },
      { name: "photo", fileName: 'a "b".jpg', type: "image/jpeg", bytes: 4, text: undefined, isCut: false },
      { name: "table", fileName: "t.csv", type: "text/csv", bytes: 4, text: "a,b\n", isCut: false },
    ]);
    for (let length = 0; length < body.length; length += 1) {
      const cut = readParts(body.subarray(0, length), type);
      assert.ok((cut?.length ?? 0) <= 3 && cut?.slice(0, -1).every(({ isCut }) => !isCut), `${length} bytes`);
    }
  });

  it("a body without a boundary, or one that does not start with it, has no parts", () => {
    assert.equal(readParts(Buffer.from("--a\r\n\r\nx\r\n--a--"), "multipart/form-data"), undefined);
    assert.deepEqual(readParts(Buffer.from("nothing of it"), "multipart/form-data; boundary=a"), []);
  });

  it("a part without a head keeps its body, and only the first parts of many are shown", () => {
    const one = "--a b\r\n\r\nplain\r\n";
    const type = 'multipart/mixed; boundary="a b"';
    assert.equal(readParts(Buffer.from(`${one}--a b--`), type)?.[0]?.text, "plain");
    assert.equal(readParts(Buffer.from(one.repeat(1000)), type)?.length, 200);
  });
});
