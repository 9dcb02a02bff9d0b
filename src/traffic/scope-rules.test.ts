import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileScopeRule, scopeExpression, toolCallIn } from "./scope-rules.ts";

const rule = compileScopeRule("write", 'mcp.method == "tools/call" && mcp.tool.startsWith("write_")');
const needs = (body: string): boolean =>
  rule.needs({ method: "POST", path: "/mcp", call: toolCallIn(Buffer.from(body)) });

describe("a scope rule about tools", () => {
  it("I8: a scope rule about tools matches the call that every parser reads", () => {
    assert.equal(needs('{"method":"tools/call","params":{"name":"write_file"}}'), true);
    assert.equal(needs('{"method":"tools/call","params":{"name":"read_file"}}'), false);
    assert.equal(needs('{"method":"tools/list","params":{"name":"write_file"}}'), false);
    assert.equal(needs(""), false);
  });

  for (const [what, body] of Object.entries({
    "a repeated name": '{"method":"tools/list","method":"tools/call","params":{"name":"write_file"}}',
    "another spelling": '{"method":"tools/list","Method":"tools/call","params":{"name":"write_file"}}',
    "a spelling that folds":
      '{"method":"tools/call","params":{"name":"read_file"},"param\u017f":{"name":"write_file"}}',
    "a batch": '[{"method":"tools/call","params":{"name":"write_file"}}]',
    "no JSON": "method=tools/call",
    "bytes that are not UTF-8": Buffer.from([0x7b, 0xff, 0x7d]).toString("latin1"),
    "deep nesting": `{"method":"tools/list","params":${"[".repeat(40)}${"]".repeat(40)}}`,
  })) {
    it(`I8: a scope rule about tools needs its scope for a body with ${what}`, () => {
      assert.equal(needs(body), true);
    });
  }

  it("a scope rule rejects expressions that do not compile or are not conditions", () => {
    assert.equal(scopeExpression.check('req.path.startsWith("/admin")'), undefined);
    assert.match(String(scopeExpression.check("mcp.method")), /true or false/);
    assert.match(String(scopeExpression.check("mcp.unknown == ''")), /be an expression/);
  });
});
