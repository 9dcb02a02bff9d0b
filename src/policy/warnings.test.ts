/** Warnings for valid policies that are probably not intended. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compilePolicy } from "./compile-policy.ts";
import type { Layer } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";
import type { PolicyWarning } from "./policy-issue.ts";

function warningsOf(policy: object, layer: Layer = "http"): readonly PolicyWarning[] {
  const { issues, warnings } = compilePolicy(JSON.stringify(policy), layer);
  assert.deepEqual(issues, []);
  return warnings;
}

const deny = { type: "deny" };
const when = (expression: string | string[], actions: object[] = [deny], phase: Phase = "on_http_request") => ({
  [phase]: [{ expressions: [expression].flat(), actions }],
});
const secret = "${secrets.get('v', 'n')}";

const doubtful: readonly (readonly [what: string, policy: object, path: string, holds: RegExp, layer?: Layer])[] = [
  [
    "a rule behind one that always answers",
    { on_http_request: [{ actions: [{ type: "custom-response" }] }, { actions: [deny] }] },
    "on_http_request[1]",
    /^never runs: on_http_request\[0\] always ends the phase/,
  ],
  [
    "places of addresses",
    when("conn.client_ip.geo.location.city == 'Cologne'"),
    "on_http_request[0].expressions[0]",
    /^line 1, column 1: "conn\.client_ip\.geo\.location\.city" is empty unless the server has the setting geo-database/,
  ],
  [
    "places of addresses, by an old name",
    when("conn.Geo.City == 'Cologne'"),
    "on_http_request[0].expressions[0]",
    /"conn\.geo\.city" is empty unless/,
  ],
  [
    "categories of addresses",
    when("'proxy' in conn.client_ip.categories"),
    "on_http_request[0].expressions[0]",
    /unless the server has the setting ip-category/,
  ],
  [
    "data that no server has",
    when("conn.server_region == 'eu'"),
    "on_http_request[0].expressions[0]",
    /"conn\.server_region" is always empty: this server has no data/,
  ],
  [
    "networks of addresses in a value",
    {
      on_http_request: [
        { actions: [{ type: "add-headers", config: { headers: { "x-as": "as ${conn.client_ip.as.number}" } } }] },
      ],
    },
    "on_http_request[0].actions[0].config.headers.x-as",
    /^line 1, column 6: "conn\.client_ip\.as\.number" is empty unless/,
  ],
  [
    "addresses of which none is admitted",
    { on_tcp_connect: [{ actions: [{ type: "restrict-ips", config: { deny: ["192.0.2.0/24"] } }] }] },
    "on_tcp_connect[0].actions[0].config.deny",
    /^allows no address/,
    "tcp",
  ],
  [
    "an item that may not be there, where that lets traffic past",
    when("!(req.headers['x-token'][0] == 'a')"),
    "on_http_request[0].expressions[0]",
    /^line 1, column 3: `req\.headers\['x-token'\]\[0\]` fails if the key is missing/,
  ],
  [
    "an item that is guarded by another question",
    when("'x-other' in req.headers && req.headers['x-token'][0] != 'a'"),
    "on_http_request[0].expressions[0]",
    /column 29/,
  ],
  [
    "an item that is guarded too late",
    when("req.headers['x-token'][0] != 'a' && 'x-token' in req.headers"),
    "on_http_request[0].expressions[0]",
    /column 1:/,
  ],
  [
    "a header's name in capitals",
    when("'Authorization' in req.headers", [{ type: "log", config: { metadata: { a: "b" } } }]),
    "on_http_request[0].expressions[0]",
    /'Authorization' is read as 'authorization'/,
  ],
  [
    "a header's name in capitals between brackets",
    when("size(res.headers['X-A']) > 0", [{ type: "log", config: { metadata: {} } }], "on_http_response"),
    "on_http_response[0].expressions[0]",
    /'X-A' is read as 'x-a'/,
  ],
  [
    "a secret in an answer",
    { on_http_request: [{ actions: [{ type: "custom-response", config: { body: `it is ${secret}` } }] }] },
    "on_http_request[0].actions[0].config.body",
    /^line 1, column 9: a secret, or a value derived from it, is visible to the client/,
  ],
  [
    "a secret in events, by way of variables",
    {
      on_http_request: [
        {
          actions: [{ type: "set-vars", config: { vars: [{ a: { c: [`x${secret}`] } }, { b: "${vars['a'].c[0]}" }] } }],
        },
        { actions: [{ type: "log", config: { metadata: { token: "${vars.b.sha256()}" } } }] },
      ],
    },
    "on_http_request[1].actions[0].config.metadata.token",
    /visible to events of traffic/,
  ],
  [
    "a secret in a response's header",
    { on_http_response: [{ actions: [{ type: "add-headers", config: { headers: { x: secret } } }] }] },
    "on_http_response[0].actions[0].config.headers.x",
    /visible to the client/,
  ],
  [
    "a visitor's token in an answer",
    {
      on_http_request: [
        {
          expressions: ["req.method == 'GET'"],
          actions: [{ type: "custom-response", config: { body: "${actions.ngrok.oauth.access_token}" } }],
        },
      ],
    },
    "on_http_request[0].actions[0].config.body",
    /a secret, or a value derived from it, is visible to the client/,
  ],
  [
    "a secret in an address that the client is sent to",
    { on_http_request: [{ actions: [{ type: "redirect", config: { to: `https://a.example/?t=${secret}` } }] }] },
    "on_http_request[0].actions[0].config.to",
    /visible to the client/,
  ],
];

const meant: readonly (readonly [what: string, policy: object])[] = [
  ["countries, which every server knows", when("conn.geo.country_code == 'AQ'")],
  ["an item that is asked for before", when("'x-token' in req.headers && req.headers['x-token'][0] != 'a'")],
  [
    "an item that an expression before has asked for",
    when(["has(req.headers['x-token'])", "req.headers['x-token'][0] != 'a'"]),
  ],
  ["an item of a list whose size is known", when("size(getReqHeader('x')) > 0 ? getReqHeader('x')[0] != 'a' : true")],
  ["a header that is asked for by its function", when("!hasReqHeader('x') || getReqHeader('x')[0] != 'a'")],
  [
    "an item where nothing is refused",
    when("req.headers['x'][0] == 'a'", [{ type: "add-headers", config: { headers: { x: "1" } } }]),
  ],
  ["a field of what is declared", when("getReqCookie('a')['value'] == 'b'")],
  ["a secret that is compared", when("getReqHeader('x').exists(x, x == secrets.get('v', 'n'))")],
  [
    "a secret that goes upstream",
    { on_http_request: [{ actions: [{ type: "add-headers", config: { headers: { x: secret } } }] }] },
  ],
  [
    "whether a secret is something",
    {
      on_http_request: [
        { actions: [{ type: "log", config: { metadata: { same: "${secrets.get('v', 'n') == 'a'}" } } }] },
      ],
    },
  ],
  [
    "an answer that is the last rule",
    { on_http_request: [{ actions: [{ type: "set-vars", config: { vars: [{ a: "b" }] } }] }, { actions: [deny] }] },
  ],
  [
    "an answer under a condition",
    { on_http_request: [{ expressions: ["req.method == 'PUT'"], actions: [deny] }, { actions: [deny] }] },
  ],
  [
    "addresses of which some are admitted",
    {
      on_http_request: [
        { actions: [{ type: "restrict-ips", config: { allow: ["0.0.0.0/0"], deny: ["192.0.2.0/24"] } }] },
      ],
    },
  ],
];

describe("warnings about a traffic policy", () => {
  for (const [what, policy, path, holds, layer] of doubtful) {
    it(`warnings about a traffic policy include ${what}`, () => {
      const [first, ...rest] = warningsOf(policy, layer);
      assert.deepEqual([first?.path, rest], [path, []]);
      assert.match(first?.message ?? "", holds);
    });
  }

  for (const [what, policy] of meant) {
    it(`warnings about a traffic policy are absent for ${what}`, () => {
      assert.deepEqual(warningsOf(policy), []);
    });
  }

  it("warnings about a traffic policy are limited to twenty", () => {
    assert.equal(warningsOf(when(Array<string>(25).fill("conn.geo.city == ''"))).length, 20);
  });
});
