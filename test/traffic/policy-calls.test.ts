/** Requests that rules of policies send, on real traffic: to internal endpoints, and to hosts that the server allows. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { movableClock } from "../support/clock.ts";
import type { MovableClock } from "../support/clock.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { startHttpsService } from "../support/services.ts";
import type { HttpsService } from "../support/services.ts";
import { makeToken } from "../support/tokens.ts";

const account = "ac_1";
let fixture: EdgeWithAgent;
/** Local addresses that policies may not reach, whatever else is allowed. */
let strict: EdgeWithAgent;
let outside: HttpsService;
let port: number;
let asked: string[] = [];
/** Calls time out after two seconds. The test advances the clock. */
const late = new Set<() => void>();
const moved = movableClock();
const clock: MovableClock = {
  ...moved,
  after(delayMs, run) {
    if (delayMs <= 1500 || delayMs > 2000) return moved.after(delayMs, run);
    late.add(run);
    return { cancel: () => late.delete(run) };
  },
};

before(async () => {
  outside = await startHttpsService(
    (request, response) => {
      asked.push(`${request.method} ${request.headers.host?.split(":")[0]}${request.url}`);
      if (request.url === "/inside") response.writeHead(302, { location: "https://check.internal/" }).end();
      else if (request.url === "/other") response.writeHead(302, { location: `https://127.0.0.1:${port}/` }).end();
      else if (request.url !== "/silent") response.end(request.headers["ngrok-req-type"]);
    },
    ["other.localhost"],
  );
  port = outside.port;
  const policyCa = outside.authorityPem;
  fixture = await startEdgeWithAgent({ clock, policyLocalAddresses: true, policyHosts: ["localhost"], policyCa });
  strict = await startEdgeWithAgent({
    allowLocalUpstreams: true,
    policyHosts: ["localhost", "*.localhost"],
    policyCa,
  });
});
after(async () => {
  await fixture.stop();
  await strict.stop();
  await outside.stop();
});

type Actions = readonly (readonly [type: string, config: object])[];

const bound = new Set<string>();
async function bind(name: string): Promise<void> {
  if (bound.has(name)) return;
  bound.add(name);
  await fixture.agent.bind({ hostname: `${name}.internal` });
}

const rulesOf = (actions: Actions): readonly object[] =>
  actions.map(([type, config]) => ({ actions: [{ type, config }] }));

/** The route's rules of one phase. Its response contains the results of the rules. */
function rules(actions: Actions, phase = "on_http_request", to = fixture): void {
  to.route({ traffic_policy: { enabled: true, value: JSON.stringify({ [phase]: rulesOf(actions) }) } });
}

function endpoint(name: string, actions: Actions, id = `ep_${name}`, account_id = account): void {
  const traffic_policy = JSON.stringify({ on_http_request: rulesOf(actions) });
  fixture.edge.put({
    kind: "cloud_endpoint",
    id,
    account_id,
    doc: { url: `https://${name}.internal`, traffic_policy },
  });
}

const answer = (body: string, config: object = {}): Actions[number] => [
  "custom-response",
  { body, headers: { "content-type": "text/plain" }, ...config },
];
const call = (config: object): Actions[number] => ["http-request", config];
const result = "actions.ngrok.http_request";
const told = answer(`\${${result}.res.status_code} \${${result}.res.body} \${${result}.error.code}`);

for (const protocol of protocols) {
  const ask = async (options: object = {}, of = fixture): Promise<string> => {
    const { status, body } = await of.ask(protocol, options);
    assert.equal(status, 200, body.toString());
    return body.toString().trim();
  };

  describe(`a request of a policy over ${protocol}`, () => {
    it(`a request of a policy over ${protocol} reaches an internal endpoint, whose own rules decide`, async () => {
      const seen = [
        "req.method",
        "req.url",
        "conn.client_ip",
        "getReqHeader('x-a')[0]",
        "getReqHeader('user-agent')[0]",
      ];
      endpoint("check", [
        answer(`${seen.map((one) => `\${${one}}`).join(" ")} \${getReqHeader('ngrok-req-type')[0]}`, {
          status_code: 203,
        }),
      ]);
      rules([
        call({ url: "https://check.internal/a", query_params: [{ key: "b", value: "c d" }], headers: { "X-A": "1" } }),
        told,
      ]);
      assert.equal(
        await ask(),
        "203 GET https://check.internal/a?b=c%20d 127.0.0.1 1 postern traffic-policy-http-request",
      );
    });

    it(`a request of a policy over ${protocol} is known by fields that no client can send`, async () => {
      rules([answer("${has(req.headers['ngrok-req-type'])}")]);
      assert.equal(await ask({ headers: { "ngrok-req-type": "traffic-policy-http-request" } }), "false");
    });

    it(`a request of a policy over ${protocol} reaches the service behind an agent, with its body`, async () => {
      await bind("service");
      fixture.answer((received, response) =>
        response.end(`${received.method} ${received.url} ${received.body.toString()}`),
      );
      rules([call({ url: "https://service.internal/x", method: "POST", body: "sent ${req.url.path}" }), told]);
      assert.equal(await ask({ path: "/a" }), "200 POST /x sent /a");
      const headers = fixture.received.at(-1)?.headers ?? {};
      assert.deepEqual(
        [headers.host, headers["x-forwarded-for"], headers["ngrok-req-type"], headers["x-forwarded-proto"]],
        ["service.internal", "127.0.0.1", "traffic-policy-http-request", "https"],
      );
      fixture.answer(undefined);
    });

    it(`a policy's request over ${protocol} reaches the nearest internal name, like forwarded requests`, async () => {
      const names = { all: "*", one: "a", team: "*.team", oneOfTeam: "a.team" };
      for (const [id, name] of Object.entries(names)) endpoint(name, [answer(id)], `ep_${id}`);
      for (const [host, id] of [
        ["a", "one"],
        ["b", "all"],
        ["b.c", "all"],
        ["a.team", "oneOfTeam"],
        ["b.team", "team"],
        ["team", "all"],
        ["A.Team", "oneOfTeam"],
      ] as const) {
        rules([call({ url: `https://${host}.internal/` }), answer(`\${${result}.res.body}`)]);
        assert.equal(await ask(), id, host);
        rules([["forward-internal", { url: `https://${host}.internal` }]]);
        assert.equal(await ask(), id, host);
      }
      for (const id of Object.keys(names)) fixture.edge.remove("cloud_endpoint", `ep_${id}`);
    });

    it(`a request of a policy over ${protocol} is sent for a response as well`, async () => {
      endpoint("check", [answer("checked ${req.url.query}")]);
      rules(
        [
          call({ url: "https://check.internal/?${res.status_code}" }),
          ["add-headers", { headers: { "x-found": `\${${result}.res.body}` } }],
        ],
        "on_http_response",
      );
      const { headers, body } = await fixture.ask(protocol);
      assert.deepEqual([headers["x-found"], body.toString()], ["checked 200", "served"]);
    });

    it(`a policy's request over ${protocol} reaches no absent endpoint, and none of another account`, async () => {
      rules([call({ url: "https://nobody.internal/" }), told]);
      assert.equal(await ask(), "0  ERR_NGROK_3604");
      endpoint("theirs", [answer("theirs")], "ep_theirs", "ac_2");
      rules([call({ url: "https://theirs.internal/" }), told]);
      assert.equal(await ask(), "0  ERR_NGROK_3604");
      rules([call({ url: "https://theirs.internal/", on_error: "halt" }), told]);
      const halted = await fixture.ask(protocol);
      assert.deepEqual([halted.status, halted.headers["ngrok-error-code"]], [502, errorCode("policy_call_failed")]);
    });

    it(`a request of a policy over ${protocol} ends where requests lead to each other`, async () => {
      endpoint("circle", [call({ url: "https://circle.internal/" }), told]);
      rules([call({ url: "https://circle.internal/" }), told]);
      assert.equal(await ask(), "200 200 200 0  ERR_NGROK_3603");
    });

    it(`a request of a policy over ${protocol} is one of 32 that rules may send for a client's request`, async () => {
      endpoint("check", [answer("ok")]);
      const many = Array.from({ length: 17 }, () => call({ url: "https://check.internal/" }));
      endpoint("more", [...many, told]);
      rules([call({ url: "https://more.internal/" }), ...many, told]);
      assert.equal(await ask(), "0  ERR_NGROK_3603");
    });

    it(`a request of a policy over ${protocol} waits no longer than its time`, async () => {
      const reached = new Promise<void>((resolve) => fixture.answer(() => resolve()));
      await bind("silent");
      rules([call({ url: "https://silent.internal/", timeout: "2s" }), told]);
      const asking = ask();
      await reached;
      clock.move(2000);
      for (const run of late) run();
      assert.equal(await asking, "0  ERR_NGROK_3602");
      fixture.answer(undefined);
    });

    it(`a policy's request over ${protocol} accepts responses of up to 256 KiB`, async () => {
      await bind("long");
      rules([
        call({ url: "https://long.internal${req.url.path}" }),
        answer(`\${size(${result}.res.body)} \${${result}.error.code}`),
      ]);
      fixture.answer(({ url }, response) => response.end(Buffer.alloc(256 * 1024 + (url === "/more" ? 1 : 0), "a")));
      assert.equal(await ask(), String(256 * 1024));
      assert.equal(await ask({ path: "/more" }), "0 ERR_NGROK_3601");
      fixture.answer(undefined);
    });

    it(`I7: a request of a policy over ${protocol} reaches hosts that the server allows, and no others`, async () => {
      asked = [];
      rules([call({ url: `https://localhost:${port}/a` }), told]);
      assert.equal(await ask(), "200 traffic-policy-http-request");
      rules([call({ url: `https://other.localhost:${port}/a` }), told]);
      assert.equal(await ask(), "0  ERR_NGROK_3604");
      assert.deepEqual(asked, ["GET localhost/a"]);
      for (const path of ["/inside", "/other"]) {
        rules([call({ url: `https://localhost:${port}${path}`, max_redirects: 3 }), told]);
        assert.equal(await ask(), "0  ERR_NGROK_3604", path);
      }
      assert.deepEqual(asked.slice(1), ["GET localhost/inside", "GET localhost/other"]);
    });

    it(`I7: a request of a policy over ${protocol} reaches no private address, whatever name leads there`, async () => {
      asked = [];
      for (const url of [`https://localhost:${port}/`, `https://a.localhost:${port}/`, `https://127.0.0.1:${port}/`]) {
        rules([call({ url }), told], "on_http_request", strict);
        assert.equal(await ask({}, strict), "0  ERR_NGROK_3604", url);
      }
      assert.deepEqual(asked, []);
    });
  });
}

it("I7: issuers' keys are fetched from the policy's address and not from the token's, and never from a private address", async () => {
  const jws = (path: string) => ({
    allowed_algorithms: ["RS256"],
    keys: { sources: { additional_jkus: [`https://localhost:${port}${path}`] } },
  });
  const jwt = (path: string): Actions[number] => [
    "jwt-validation",
    {
      issuer: { allow_list: [{ value: "i" }] },
      http: { tokens: [{ type: "plain", method: "header", name: "x-token" }] },
      jws: jws(path),
    },
  ];
  const evil = `https://localhost:${port}/evil`;
  const token = makeToken("RS256", { iss: "i", exp: 4_000_000_000 }, { jku: evil, x5u: evil, kid: evil });
  for (const [to, paths] of [
    [strict, []],
    [fixture, ["GET localhost/keys"]],
  ] as const) {
    asked = [];
    rules([jwt("/keys")], "on_http_request", to);
    assert.equal((await to.ask("h1", { headers: { "x-token": token } })).status, 401);
    assert.deepEqual(asked, paths);
  }
  // A redirect is no key set, wherever it leads.
  rules([jwt("/inside")]);
  assert.equal((await fixture.ask("h1", { headers: { "x-token": token } })).status, 401);
});

it("a policy's request does not delay other requests", async () => {
  await bind("held");
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  fixture.answer(({ url }, response) => {
    if (url !== "/held") return void response.end("served");
    reached.resolve();
    void held.promise.then(() => response.end("late"));
  });
  fixture.route({
    traffic_policy: {
      enabled: true,
      value: JSON.stringify({
        on_http_request: [
          {
            expressions: ["req.url.path == '/wait'"],
            actions: [{ type: "http-request", config: { url: "https://held.internal/held" } }],
          },
        ],
      }),
    },
  });
  const waiting = fixture.ask("h2", { path: "/wait" });
  await reached.promise;
  assert.equal((await fixture.ask("h1")).body.toString(), "served");
  held.resolve();
  assert.equal((await waiting).status, 200);
  fixture.answer(undefined);
});

it("a request of a policy is described by a dry run, and not sent", async () => {
  endpoint("check", [answer("ok")]);
  asked = [];
  rules([call({ url: `https://localhost:${port}/secret?a=b` }), told]);
  const before = fixture.received.length;
  const request = {
    method: "GET",
    target: "/",
    host: "app.example.com",
    headers: [],
    body: "",
    source: "192.0.2.1",
    scheme: "https",
    response: undefined,
  } as const;
  const said = await fixture.edge.question({
    name: "explain_request",
    accountId: account,
    siteId: "edghts_1",
    request,
  });
  assert.equal(said.name, "explanation");
  const steps = JSON.stringify(said);
  assert.match(steps, new RegExp(`http-request: would send GET to localhost:${port}`));
  assert.ok(!steps.includes("secret"));
  assert.deepEqual([asked, fixture.received.length], [[], before]);
});
