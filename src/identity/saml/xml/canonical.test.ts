import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { seededRandom } from "../../../../test/support/random.ts";
import type { Random } from "../../../../test/support/random.ts";
import { everyNode, oracle, parseDom } from "../../../../test/support/xml-crypto.ts";
import { canonicalize } from "./canonical.ts";
import { walkElements } from "./element.ts";
import { readXml } from "./read-xml.ts";

const limits = { maxLength: 1_000_000, maxDepth: 32, maxElements: 5000, maxAttributes: 32 };
const of = (xml: string, inclusive: readonly string[] = []) => canonicalize(readXml(xml, limits), { inclusive });

const prefixes = ["a", "b", "c", "d"];
const texts = [
  "x",
  " ",
  "\n  ",
  "&amp;&lt;&gt;",
  "&#13;&#10;&#9;",
  "&quot;'",
  "ü 🦀 \u00a0",
  "&#x41;",
  "]]&gt;",
  "\r\n",
];
const values = ["", "v", " a  b ", "&#9;&#10;&#13;", "&lt;&amp;&quot;", ">'", "a\tb\nc", "é&#x1F980;"];

/**
 * A document that binds, uses and rebinds prefixes. It never rebinds a prefix to an outer binding, where xml-crypto
 * omits a declaration.
 */
function randomXml(random: Random): string {
  let uris = 0;
  const element = (depth: number, scope: Readonly<Record<string, string>>): string => {
    const bound: Record<string, string> = { ...scope };
    const parts: string[] = [];
    for (const prefix of depth === 0 ? prefixes : ["", ...prefixes]) {
      if (depth > 0 && random() < 0.85) continue;
      bound[prefix] = `urn:${String((uris += 1)).padStart(4, "0")}`;
      parts.push(`xmlns${prefix === "" ? "" : `:${prefix}`}="${bound[prefix]}"`);
    }
    const seen = new Set<string>();
    for (let count = random.below(4); count > 0; count -= 1) {
      const prefix = random.pick(["", "xml", ...prefixes]);
      const local = random.pick(["one", "two", "Three"]);
      if (seen.has(`${prefix}:${local}`)) continue;
      seen.add(`${prefix}:${local}`);
      const quote = random.pick(["'", '"']);
      const value = random.pick(values).replaceAll(quote, "");
      parts.push(`${prefix === "" ? local : `${prefix}:${local}`} = ${quote}${value}${quote}`);
    }
    const ordered = parts.toSorted(() => random() - 0.5).join(random.pick([" ", "\n\t", "  "]));
    const prefix = random.pick(["", ...prefixes]);
    const tag = `${prefix === "" ? "" : `${prefix}:`}${random.pick(["E", "f", "g-h.i"])}`;
    if (random() < 0.2) return `<${tag} ${ordered}/>`;
    const children: string[] = [];
    for (let count = random.below(depth > 4 ? 2 : 5); count > 0; count -= 1) {
      children.push(random() < 0.5 && depth < 8 ? element(depth + 1, bound) : random.pick(texts));
    }
    return `<${tag} ${ordered}>${children.join("")}</${tag} >`;
  };
  return element(0, {});
}

describe("the canonical form", () => {
  it("the canonical form equals that of xml-crypto for every element of varied documents", () => {
    const random = seededRandom(4711);
    let compared = 0;
    for (let count = 0; count < 300; count += 1) {
      const xml = randomXml(random);
      const theirs = [...everyNode(parseDom(xml))];
      const ours = [...walkElements(readXml(xml, limits))];
      assert.equal(ours.length, theirs.length);
      for (const [at, element] of ours.entries()) {
        const made = canonicalize(element);
        assert.equal(made, oracle(theirs[at] as (typeof theirs)[number]), xml);
        assert.deepEqual(
          createHash("sha256").update(made).digest(),
          createHash("sha256")
            .update(canonicalize(readXml(made, limits)))
            .digest(),
          "a canonical form is its own canonical form",
        );
        compared += 1;
      }
    }
    assert.ok(compared > 1000, String(compared));
  });

  it("the canonical form equals that of xml-crypto with an inclusive prefix list", () => {
    const random = seededRandom(42);
    for (let count = 0; count < 200; count += 1) {
      const xml = randomXml(random);
      const inclusive = prefixes.filter(() => random() < 0.5);
      const ours = [...walkElements(readXml(xml, limits))];
      const at = random.below(ours.length);
      // xml-crypto modifies its input document.
      const theirs = [...everyNode(parseDom(xml))][at];
      if (inclusive.length === 0 || !theirs) continue;
      assert.equal(canonicalize(ours[at] as (typeof ours)[number], { inclusive }), oracle(theirs, inclusive), xml);
    }
  });

  it("repeats a declaration if a prefix is bound again to an outer binding", () => {
    const xml = '<a:x xmlns:a="urn:1"><a:y xmlns:a="urn:2"><a:z xmlns:a="urn:1"></a:z></a:y></a:x>';
    assert.equal(of(xml), xml);
  });

  it("the canonical form removes the default namespace from an element that has none", () => {
    assert.equal(
      of('<x xmlns="urn:1"><a:y xmlns:a="urn:2"><z xmlns=""><w/></z></a:y></x>'),
      '<x xmlns="urn:1"><a:y xmlns:a="urn:2"><z xmlns=""><w></w></z></a:y></x>',
    );
    assert.equal(of('<x xmlns=""><y xmlns=""/></x>'), "<x><y></y></x>");
  });

  it("the canonical form treats #default in the list as the default namespace, used or not", () => {
    const xml = '<a:x xmlns:a="urn:2" xmlns="urn:1"><a:y xmlns=""/></a:x>';
    assert.equal(of(xml), '<a:x xmlns:a="urn:2"><a:y></a:y></a:x>');
    assert.equal(of(xml, [""]), '<a:x xmlns="urn:1" xmlns:a="urn:2"><a:y xmlns=""></a:y></a:x>');
  });

  it("sorts attributes by namespace and local name, in code point order", () => {
    assert.equal(
      of('<x xmlns:b="urn:\u{1F980}" xmlns:a="urn:\uFFFD" b:i="1" a:i="2" z="3" a="4" a:B="5"/>'),
      '<x xmlns:a="urn:\uFFFD" xmlns:b="urn:\u{1F980}" a="4" z="3" a:B="5" a:i="2" b:i="1"></x>',
    );
  });

  it("the canonical form omits one element with its content, and nothing else", () => {
    const root = readXml("<x>a<s><t/></s>b<s/></x>", limits);
    const [, without] = root.children;
    assert.ok(typeof without === "object");
    assert.equal(canonicalize(root, { without }), "<x>ab<s></s></x>");
  });
});
