/** Families of attacks with login cookies and fields, on an edge whose session the client has or lacks. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { after, before, describe, it } from "node:test";
import { once } from "node:events";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent, Received } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { flowKeyObject, sessionOf } from "../support/logins.ts";

const html = { accept: "text/html" };
const realm = { siteId: "edghts_1", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "s." };
const names = [
  "ngrok-auth-user-id",
  "ngrok-auth-user-name",
  "ngrok-auth-user-email",
  "ngrok-auth-oauth-access-token",
  "ngrok-auth-oauth-refresh-token",
  "postern-auth-groups",
  "postern-assertion",
];

/** As a service may read one of these names: some map every character that is no letter or digit to "_" or "-". */
function spellings(name: string, protocol: Protocol): readonly string[] {
  const dashes = [...name.matchAll(/-/g)].map(({ index }) => index);
  const swapped = dashes.map((at) => `${name.slice(0, at)}_${name.slice(at + 1)}`);
  const odd = "_.~!'*+^`|#$%&".split("").map((one) => name.replaceAll("-", one));
  const lower = [name, ...swapped, ...odd];
  // HTTP/2 has no upper case (RFC 9113 §8.2.1).
  if (protocol === "h2") return lower;
  return [...lower, ...lower.map((one) => one.toUpperCase()), name.replaceAll(/\b[a-z]/g, (one) => one.toUpperCase())];
}

for (const protocol of protocols) {
  describe(`who attacks logins over ${protocol}`, { timeout: 60_000 }, () => {
    let fixture: EdgeWithAgent;
    let cookie: readonly [name: string, value: string];
    before(async () => {
      fixture = await startEdgeWithAgent();
      const { clock, put, route } = fixture;
      const key = flowKeyObject(clock.now());
      put(key.kind, key.id, key.doc);
      const lists = { scopes: [], email_addresses: [], email_domains: [], organizations: [], teams: [] };
      const login = {
        enabled: true,
        options_passthrough: true,
        cookie_prefix: "s.",
        inactivity_timeout: 0,
        maximum_duration: 0,
        auth_check_interval: 0,
        provider: { github: { client_id: "c", client_secret: "s", ...lists } },
      };
      route({ oauth: login });
      const backend = { enabled: true, backend_id: "bkdtg_1" };
      put("https_edge_route", "edghtsrt_pub", {
        edge_id: "edghts_1",
        match_type: "path_prefix",
        match: "/pub",
        backend,
      });
      const made = sessionOf(clock, realm, { host });
      put(made.object.kind, made.object.id, made.object.doc);
      ({ cookie } = made);
    });
    after(() => fixture.stop());

    /** The last request as the service received it. */
    const last = (): Received => fixture.received.at(-1) as Received;
    const has = (received: Received, text: string): boolean => received.rawHeaders.some((one) => one.includes(text));
    const places = (): readonly (readonly [
      what: string,
      method: string,
      path: string,
      fields: Record<string, string>,
    ])[] => [
      ["with a session", "GET", "/", { cookie: cookie.join("=") }],
      ["without one, as a preflight", "OPTIONS", "/", {}],
      ["where no login is asked for", "GET", "/pub", { cookie: cookie.join("=") }],
    ];

    it(`R3: a client over ${protocol} cannot claim an identity in any spelling`, async () => {
      for (const [what, method, path, fields] of places()) {
        const headers: Record<string, string> = { ...fields };
        for (const name of names) for (const one of spellings(name, protocol)) headers[one] = "eve";
        const { status } = await fixture.ask(protocol, { method, path, headers });
        assert.equal(status, 200, what);
        assert.ok(
          !has(last(), "eve"),
          `${what}: ${last()
            .rawHeaders.filter((_, at, all) => all[at + 1] === "eve")
            .join(" ")}`,
        );
        const ids = last().rawHeaders.filter((one) => one.toLowerCase() === "ngrok-auth-user-id");
        assert.equal(ids.length, what === "with a session" ? 1 : 0, what);
      }
    });

    it(`R3: a client over ${protocol} cannot claim an identity by repetition, through Connection, or in trailers`, async () => {
      const socket = await fixture.connect(protocol);
      socket.on("error", () => {});
      const before = fixture.received.length;
      const behind: string[] = [];
      fixture.service.once("request", (request) => request.on("end", () => behind.push(...request.rawTrailers)));
      const sent = { "x-checksum": "1", ...Object.fromEntries(names.map((name) => [name, "eve"])) };
      if (protocol === "h2") {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        session.on("error", () => {});
        const stream = session.request(
          {
            ":method": "POST",
            ":path": "/",
            ":authority": host,
            cookie: cookie.join("="),
            "ngrok-auth-user-id": ["eve", "eve"],
          },
          { waitForTrailers: true },
        );
        stream.on("wantTrailers", () => stream.sendTrailers(sent));
        stream.on("error", () => {});
        stream.resume().end("ok");
        await once(stream, "close");
        session.destroy();
      } else {
        const twice = `ngrok-auth-user-id: eve\r\nngrok-auth-user-id: eve\r\nConnection: ${names.join(", ")}\r\n`;
        const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.write(
          `POST / HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie.join("=")}\r\n${twice}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${lines.join("")}\r\n`,
        );
        await once(socket, "data");
      }
      socket.destroy();
      assert.equal(fixture.received.length, before + 1);
      assert.ok(!has(last(), "eve"));
      assert.deepEqual(behind, ["x-checksum", "1"]);
      const signedIn = await fixture.ask(protocol, {
        headers: { cookie: cookie.join("="), ...(protocol === "h1" && { connection: names.join(", ") }) },
      });
      assert.equal(signedIn.status, 200);
      assert.equal(last().headers["ngrok-auth-user-id"], "1");
    });

    it(`I2: who attacks logins over ${protocol} is somebody by the exact cookie alone`, async () => {
      const [name, value] = cookie;
      const flipped = value.slice(0, -2) + (value.endsWith("AA") ? "BB" : "AA");
      const wrong = [
        "",
        `${name}=`,
        `${name}=${value}x`,
        `${name}=x${value}`,
        `${name}=${flipped}`,
        `${name}=${value.slice(0, -1)}`,
        `${name}=${value.toLowerCase()}`,
        `${name}="${value}"`,
        `${name}=%70${value.slice(1)}`,
        `${name}=${Buffer.from(value).toString("base64")}`,
        `${name}[]=${value}`,
        `${name.slice(7)}=${value}`,
        `${name.toLowerCase()}=${value}`,
        `__Secure-${name.slice(7)}=${value}`,
        `${name.replace("s.", "t.")}=${value}`,
        `${name.slice(0, -1)}0=${value}`,
        `a=${name}=${value}`,
        `a="; ${name}=${flipped}"`,
        `${name}=${flipped}; ${name}=${value}`,
        `a=1,${name}=${value}`,
      ];
      for (const one of wrong) {
        const { status } = await fixture.ask(protocol, { headers: { ...html, cookie: one } });
        assert.equal(status, 302, one);
      }
      const right = [
        `${name}=${value}`,
        `a=1;${name}=${value};b=2`,
        `${name} = ${value}`,
        `${name}=${value}; ${name}=${flipped}`,
      ];
      for (const one of right) {
        const { status } = await fixture.ask(protocol, { headers: { ...html, cookie: one } });
        assert.equal(status, 200, one);
        assert.ok(!has(last(), value), one);
        assert.ok(!has(last(), "session."), one);
      }
    });

    it(`I2: a service over ${protocol} receives no login cookie, however many fields carry them`, async () => {
      const [name, value] = cookie;
      for (const cookies of [
        ["a=1", `${name}=${value}`, "b=2"],
        [`a=1; ${name}=${value}`, `${name}=${value}; b=2`],
        [`${name}=${value}`, `__Host-nonce.abcdefgh.abcdef=${value}`],
      ]) {
        for (const path of ["/", "/pub"]) {
          const { status } = await fixture.ask(protocol, { path, headers: { ...html, cookie: cookies } });
          assert.equal(status, 200);
          assert.ok(!has(last(), value), cookies.join(" | "));
          const left = cookies.join("; ").includes("a=1") ? "a=1; b=2" : undefined;
          assert.equal(last().headers.cookie, left);
        }
      }
    });

    it(`I2: blanks around login cookies over ${protocol} leave the rest of the field, and the edge serves on`, async () => {
      const made = "__Host-session.00000000=x";
      for (const sent of [`a=1 ; ${made}`, `a=1\t; ${made}`, `a=1 \t ;${made}`, `a=1 ; ${made} ; ${made}`]) {
        const { status } = await fixture.ask(protocol, { path: "/pub", headers: { ...html, cookie: sent } });
        assert.equal(status, 200, sent);
        assert.equal(last().headers.cookie, "a=1", sent);
      }
    });

    it(`I2: who attacks logins over ${protocol} from a service on the same host plants no cookie of a login`, async () => {
      const [name] = cookie;
      const planted = [
        `${name}=x`,
        ` ${name}=x; Path=/`,
        `\t${name} =x`,
        `${name}=x; Secure; Path=/`,
        `__Host-nonce.abcdefgh.abcdef=x`,
      ];
      fixture.answer((_request, response) => {
        response.writeHead(200, { "set-cookie": ["own=1", ...planted.map((one) => one.trim()), `${name}=y; own=2`] });
        response.end("served");
      });
      try {
        for (const [what, method, path, headers] of places()) {
          const answer = await fixture.ask(protocol, { method, path, headers });
          assert.deepEqual(answer.headers["set-cookie"], ["own=1"], what);
        }
      } finally {
        fixture.answer(undefined);
      }
    });
  });
}
