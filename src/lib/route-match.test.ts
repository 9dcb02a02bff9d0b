import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canonicalMatch, matchIssue, readRouteMatch } from "./route-match.ts";

const read: readonly (readonly [match: string, host: string, path: string])[] = [
  ["/", "", "/"],
  ["/p|q", "", "/p%7Cq"],
  ['/^"<>`{}', "", "/%5E%22%3C%3E%60%7B%7D"],
  ["/x/../y", "", "/y"],
  ["/dot/./t", "", "/dot/t"],
  ["/%40admin", "", "/@admin"],
  ["//a.example", "", "//a.example"],
  ["a.example", "a.example", "/"],
  ["A.Example.", "a.example", "/"],
  ["A.example/P/%41", "a.example", "/P/A"],
  ["*.example.com/x", "*.example.com", "/x"],
  ["xn--nxasmq6b.example", "xn--nxasmq6b.example", "/"],
];

const refused: readonly (readonly [match: string, why: RegExp])[] = [
  ["", /start with "\/"/],
  ["/s%2ft", /encoded slash \(%2F\)/],
  ["/%zz", /percent sign/],
  ["/a\\b", /backslash/],
  ["/%00", /NUL/],
  ["/%ff", /UTF-8/],
  ["/..;/x", /parameters/],
  ["/a?b", /query/],
  ["/a#b", /fragment/],
  ["/a b", /ASCII/],
  ["/ä", /ASCII/],
  ["ä.example/x", /punycode/],
  ["a.example:443", /without a port/],
  ["a.example:443/x", /without a port/],
  ["a%2eexample/x", /labels/],
  ["10.0.0.1/x", /not an address/],
  ["[::1]/x", /labels/],
  ["*", /"\*"/],
  ["a.*.example/x", /"\*"/],
  ["a..example", /labels/],
  ["https://a.example/x", /scheme/],
];

describe("a route's match", () => {
  for (const [match, host, path] of read) {
    it(`R1: a route's match: "${match}" is ${host === "" ? "any host" : host} and ${path}`, () => {
      assert.deepEqual(readRouteMatch(match), { host, path });
      assert.equal(canonicalMatch(canonicalMatch(match)), canonicalMatch(match));
    });
  }
  for (const [match, why] of refused) {
    it(`R1: a route's match: "${match}" is rejected with the reason`, () => assert.match(matchIssue(match) ?? "", why));
  }
});
