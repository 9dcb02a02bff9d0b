import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attributeOf, walkElements, XmlIssue } from "./element.ts";
import { readXml } from "./read-xml.ts";

const limits = { maxLength: 10_000, maxDepth: 4, maxElements: 20, maxAttributes: 3 };
const issueOf = (xml: string, more = {}): string => {
  try {
    readXml(xml, { ...limits, ...more });
  } catch (error) {
    if (error instanceof XmlIssue) return error.message;
    throw error;
  }
  return "";
};

describe("the XML reader", () => {
  it("reads names, namespaces, attributes and text", () => {
    const root = readXml(
      `<?xml version='1.0'?>\n<a:x xmlns:a="urn:1" a:b='1' b="2">t<y xmlns="urn:2"/></a:x>\n`,
      limits,
    );
    assert.deepEqual([root.prefix, root.local, root.namespace, root.at], ["a", "x", "urn:1", 22]);
    assert.deepEqual(
      root.attributes.map(({ namespace, value }) => [namespace, value]),
      [
        ["urn:1", "1"],
        ["", "2"],
      ],
    );
    const [text, y] = root.children;
    assert.equal(text, "t");
    assert.ok(typeof y === "object" && y.namespace === "urn:2" && y.parent === root);
    assert.ok([...walkElements(root)].every((one) => Object.isFrozen(one) && Object.isFrozen(one.children)));
  });

  it("replaces the five entities and character references once, and normalizes lines and white space", () => {
    const root = readXml(`<x a="\r\n\t&#10;&#x9;">&amp;lt;&#65;\r\n\r&#13;&apos;&quot;&gt;</x>`, limits);
    assert.equal(attributeOf(root, "a"), "  \n\t");
    assert.deepEqual(root.children, ["&lt;A\n\n\r'\">"]);
  });

  it("I4: the XML reader refuses DOCTYPE, entities, comments, CDATA sections and processing instructions everywhere", () => {
    const doctype = '<!DOCTYPE x [<!ENTITY e "v">]>';
    for (const odd of [doctype, "<!DOCTYPE x>", "<!-- c -->", "<![CDATA[c]]>", "<?p i?>", "<?xml version='1.0'?>"]) {
      for (const xml of [
        `${odd}<x/>`,
        `<x/>${odd}`,
        `<x>${odd}</x>`,
        `<x>a${odd}b</x>`,
        `<x ${odd}/>`,
        `<x a="${odd}"/>`,
      ]) {
        if (xml === "<?xml version='1.0'?><x/>") continue;
        assert.notEqual(issueOf(xml), "", xml);
      }
    }
    for (const entity of [
      "&e;",
      "&nbsp;",
      "&",
      "&;",
      "& amp;",
      "&amp",
      "&#;",
      "&#x;",
      "&#xg;",
      "&#X41;",
      "&LT;",
      "&%e;",
    ]) {
      assert.notEqual(issueOf(`<x>${entity}</x>`), "", entity);
      assert.notEqual(issueOf(`<x a="${entity}"/>`), "", entity);
    }
  });

  it("the XML reader refuses characters that XML does not allow, literal or as references", () => {
    for (const code of [0, 1, 8, 0xb, 0xc, 0x1f, 0xfffe, 0xffff, 0xd800, 0xdfff]) {
      assert.notEqual(issueOf(`<x>${String.fromCharCode(code)}</x>`), "", String(code));
      assert.notEqual(issueOf(`<x>&#${code};</x>`), "", String(code));
    }
    for (const reference of ["&#x110000;", "&#9999999;", "&#xFFFFFF;", "&#99999999999;"]) {
      assert.notEqual(issueOf(`<x>${reference}</x>`), "", reference);
    }
    assert.equal(issueOf("<x>\u{1F980}&#x10FFFF;\u0085</x>"), "");
  });

  it("the XML reader refuses documents that are not well-formed", () => {
    for (const xml of [
      "",
      " ",
      "x",
      "<",
      "<x",
      "<x>",
      "<x/",
      "<x></y>",
      "<x></x",
      "</x>",
      "<x/><x/>",
      "<x/>y",
      "y<x/>",
      "\uFEFF<x/>",
      "< x/>",
      "<x / >",
      "<x></ x>",
      "<x a=1/>",
      "<x a/>",
      "<x a='1'b='2'/>",
      "<x a='1/>",
      "<x a='<'/>",
      "<x a='1' a='2'/>",
      "<1/>",
      "<é/>",
      "<x é='1'/>",
      "<a:b:c xmlns:a='u'/>",
      "<x:/>",
      "<:x/>",
      "<x>]]></x>",
      " <?xml version='1.0'?><x/>",
      "<?XML version='1.0'?><x/>",
      "<?xml version='1.1'?><x/>",
      "<?xml version='1.0' encoding='latin1'?><x/>",
      "<?xml version='1.0'?><?xml version='1.0'?><x/>",
      `<${"x".repeat(200)}/>`,
    ]) {
      assert.notEqual(issueOf(xml), "", xml);
    }
  });

  it("requires prefixes to be bound and declared once, and reserved ones to be left alone", () => {
    for (const xml of [
      "<a:x/>",
      "<x a:b='1'/>",
      "<x><y xmlns:a='u'/><a:z/></x>",
      "<x xmlns:a='u' xmlns:a='v'/>",
      "<x xmlns='u' xmlns='v'/>",
      "<x xmlns:a=''/>",
      "<x xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
      "<x xmlns:xmlns='u'/>",
      "<x xmlns:a='http://www.w3.org/2000/xmlns/'/>",
      "<x xmlns='http://www.w3.org/XML/1998/namespace'/>",
      "<x xmlns:a='u' xmlns:b='u' a:c='1' b:c='2'/>",
    ]) {
      assert.notEqual(issueOf(xml), "", xml);
    }
    assert.equal(issueOf("<x xml:lang='en'><a:y xmlns:a='u'/></x>"), "");
  });

  it("the XML reader accepts an ID once, however the attribute is written", () => {
    for (const [one, other] of [
      ["ID", "ID"],
      ["ID", "Id"],
      ["id", "xml:id"],
    ]) {
      assert.match(issueOf(`<x ${one}='a'><y ${other}='a'/></x>`), /the same ID twice/);
      assert.equal(issueOf(`<x ${one}='a'><y ${other}='b'/></x>`), "");
    }
  });

  it("the XML reader enforces its limits: length, depth, elements, attributes", () => {
    const deep = (depth: number) => "<x>".repeat(depth) + "</x>".repeat(depth);
    const wide = (count: number) => `<x>${"<y/>".repeat(count - 1)}</x>`;
    const long = (length: number) => `<x>${"a".repeat(length - 7)}</x>`;
    const many = (count: number) => `<x xmlns:a="u"${"abcd".slice(0, count - 1).replace(/./g, " $&=''")}/>`;
    for (const [make, most] of [
      [deep, 4],
      [wide, 20],
      [long, 10_000],
      [many, 3],
    ] as const) {
      assert.equal(issueOf(make(most)), "");
      assert.match(issueOf(make(most + 1)), /more than|deeper|longer/);
    }
  });

  it("skips comments if configured, and joins the text around them", () => {
    const skip = { skipComments: true };
    const xml = "<!--a--><x><!--b-->1<!-- -->2<y/></x><!--c-->\n";
    assert.notEqual(issueOf(xml), "");
    assert.equal(readXml(xml, { ...limits, skipComments: true }).children[0], "12");
    for (const wrong of [
      "<x><!-- -- --></x>",
      "<x><!-- ->",
      "<!--->-->",
      "<!--",
      "<x><!DOCTYPE></x>",
      "<x><![CDATA[]]></x>",
    ]) {
      assert.notEqual(issueOf(wrong, skip), "", wrong);
    }
  });
});
