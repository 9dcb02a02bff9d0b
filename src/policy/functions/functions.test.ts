/** Functions of policies, with the values in the specification. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { compileSource } from "../../cel/program.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { systemClock } from "../../lib/clock.ts";
import { actions } from "../actions/index.ts";
import { defaultPolicyServices, PolicyContext, ruleSteps } from "../language/policy-context.ts";
import { environmentOf } from "../policy-environment.ts";
import { textOf } from "../language/text-of.ts";

let random = 0;
const exchange = exchangeOf({
  target: "/a%20b?x=1&x=2&y=%C3%A9",
  headers: {
    "x-tier": "gold",
    cookie: "a=1; b=2; a=3",
    "content-type": 'Application/JSON; charset="utf-8"',
    "user-agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile/15E148 Safari/604.1",
  },
  response: {
    status: 201,
    headers: [
      ["set-cookie", "s=1; Path=/; HttpOnly"],
      ["set-cookie", "s=2; Path=/a; Max-Age=60"],
    ],
  },
});
const context = new PolicyContext(
  {
    accountId: "ac_1",
    ownerId: "r",
    endpoint: { id: "ep_1", protocol: "https" },
    clock: systemClock,
    services: { ...defaultPolicyServices, random: () => random },
    keep: (_key, make) => make(),
    authority: () => "",
    login: () => assert.fail("no login"),
    ipPolicy: () => assert.fail("no IP policy"),
  },
  "on_http_response",
  exchange.connection,
  exchange,
  false,
);

function value(source: string): string {
  const compiled = compileSource(source, environmentOf("on_http_response", "http", actions));
  assert.ok(compiled.ok, `${source}: ${compiled.ok ? "" : JSON.stringify(compiled.issues)}`);
  context.steps = ruleSteps;
  const result = compiled.program.evaluate(context);
  const text = result instanceof CelFailure ? result : textOf(result, context);
  return text instanceof CelFailure ? `failure: ${text.message}` : text;
}

const rows: readonly (readonly [source: string, text: string])[] = [
  ["hash.crc64('hello')", "3c3eeee2d8100000"],
  ["'hello'.xxhash64()", "26c7827d889f6da3"],
  ["hash.crc32('123456789')", "cbf43926"],
  ["''.xxhash64()", "ef46db3751d8e999"],
  ["hash.md5('')", "d41d8cd98f00b204e9800998ecf8427e"],
  ["'abc'.sha1()", "a9993e364706816aba3e25717850c26c9cd0d89d"],
  ["'abc'.sha256('base64')", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="],
  ['"i;md/r/$y".escapeUrl()', "i%3Bmd%2Fr%2F%24y"],
  ["'a%2Fb'.unescapeUrl()", "a/b"],
  ["'%zz'.unescapeUrl()", "failure: the text cannot be decoded"],
  ["[1,[2,[3,4]]].flatten()", "[1,2,[3,4]]"],
  ["'hello'.charAt(5)", ""],
  ["'a,b,c'.split(',', 2)", '["a","b"]'],
  ["' a  b '.split()", '["a","b"]'],
  ["base64.encode(b'hi')", "aGk="],
  ["string(base64.decode('aGk='))", "hi"],
  ["'hi'.encodeBase64().decodeBase64()", "hi"],
  ["json.decode('{\"a\": [1, 2]}').a[1] == 2", "true"],
  ["{'a': 1}.encodeJson()", '{"a":1}'],
  ["'[1'.isJson()", "false"],
  [`'${"[".repeat(40)}${"]".repeat(40)}'.isJson()`, "false"],
  ["queryString.decode('a=1&a=2&b=%20')", '{"a":"1","b":" "}'],
  ["{'a': 'x y'}.encodeQueryString()", "a=x+y"],
  ["basic_auth.encode('u', 'p')", "Basic dTpw"],
  ["url.parse('https://u:p@a.example:8443/p?q=1#f').user", "u:p"],
  ["'https://a.example'.isURL()", "true"],
  ["'İX'.upper()", "İX"],
  ["inCidrRange('10.1.2.3', '10.0.0.0/8')", "true"],
  ["inCidrRange('10.1.2.3', 'nonsense')", "false"],
  ["inCidrRange('2001:db8::1', '2001:db8::/32')", "true"],
  ["inCidrRanges('10.1.2.3', ['192.0.2.0/24', '10.0.0.0/8'])", "true"],
  ["'172.31.0.1'.isPrivateIp() && !'172.32.0.1'.isPrivateIp()", "true"],
  ["getReqHeader('X-Tier')[0]", "gold"],
  ["'X-Tier' in req.headers", "true"],
  ["req.headers['X-Tier'][0]", "gold"],
  ["getReqHeader('none')", "[]"],
  ["getQueryParam('x')", '["1","2"]'],
  ["getQueryParam('y')[0]", "é"],
  ["hasQueryParam('z')", "false"],
  ["getReqCookie('a').value", "1"],
  ["req.cookies['a'][1].value", "3"],
  ["getReqCookie('none').value", ""],
  ["getResCookie('s').value", "2"],
  ["getResCookie('s').max_age", "60s"],
  ["res.cookies['s'][1].http_only", "true"],
  ["req.content_type", "application/json"],
  ["req.content_type.parameters['charset']", "utf-8"],
  ["req.user_agent.os + ' ' + req.user_agent.os_version", "iOS 17.5"],
  ["req.user_agent.is_mobile && !req.user_agent.is_desktop", "true"],
  ["conn.client_ip.geo.location.country_code == ''", "true"],
  ["conn.client_ip.as.number", "0"],
  ["res.status_code >= 200", "true"],
  ["actions.ngrok.basic_auth.credentials.username == ''", "true"],
  ["timestamp(time.now) > timestamp('2020-01-01T00:00:00Z')", "true"],
  ["rand.int(5, 4)", "failure: no number is in the range 5 to 4"],
];

describe("functions and variables of policies", () => {
  for (const [source, text] of rows) it(`${source} is ${text}`, () => assert.equal(value(source), text));

  it("rand returns numbers including both ends, new ones each time", () => {
    random = 0;
    assert.deepEqual([value("rand.int(1, 3)"), value("rand.double()"), value("rand.int()")], ["1", "0", "0"]);
    random = 0.999_999;
    assert.deepEqual([value("rand.int(1, 3)"), value("rand.int()")], ["3", "1"]);
  });
});
