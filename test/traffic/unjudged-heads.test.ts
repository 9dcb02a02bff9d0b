/** Heads from the upstream that no response hook sees, and the rules that apply to them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import { request } from "node:https";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { switching, upgrade } from "../support/upgraded.ts";

const planted = [
  "__Host-s.session.abcdefgh=x; Path=/; Secure",
  "=__Host-s.session.abcdefgh=x; Path=/; Secure",
  "__Host-s.nonce.abcdefgh.abcdef=x; Path=/; Secure",
];
const cookies = [...planted, "own=1"];
const link = "</style.css>; rel=preload";
const removing = { enabled: true, add: {}, remove: ["x-secret"] };
const policy = (value: object): object => ({ enabled: true, value: JSON.stringify(value) });
const rule = { actions: [{ type: "remove-headers", config: { headers: ["x-secret"] } }] };
const judging = {
  "a module": { response_headers: removing },
  "a rule": { traffic_policy: policy({ on_http_response: [rule] }) },
};
const others = { nothing: {}, "a module that changes bodies alone": { compression: { enabled: true } } };

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent();
  const lists = { scopes: [], email_addresses: [], email_domains: [], organizations: [], teams: [] };
  fixture.put("https_edge_route", "edghtsrt_login", {
    edge_id: "edghts_1",
    match_type: "path_prefix",
    match: "/login",
    oauth: {
      enabled: true,
      options_passthrough: false,
      cookie_prefix: "s.",
      inactivity_timeout: 0,
      maximum_duration: 0,
      auth_check_interval: 0,
      provider: { github: { client_id: "c", client_secret: "s", ...lists } },
    },
  });
  fixture.service.on("upgrade", (incoming: IncomingMessage, socket: Socket) => {
    socket.on("error", () => {});
    const more = [...cookies.map((one) => `Set-Cookie: ${one}`), "X-Secret: s3cret"].join("\r\n");
    socket.end(switching(incoming).replace(/\r\n\r\n$/, `\r\n${more}\r\n\r\n`));
  });
});
after(() => fixture.stop());

/** The interim heads of one request, and the cookies of its final one. */
async function heads(
  protocol: Protocol,
): Promise<{ readonly interim: Record<string, unknown>[]; readonly final: unknown }> {
  const socket = await fixture.connect(protocol);
  const interim: Record<string, unknown>[] = [];
  if (protocol === "h1") {
    const outgoing = request({ createConnection: () => socket, headers: { host } });
    outgoing.on("information", ({ headers }: { headers: IncomingHttpHeaders }) => interim.push(headers));
    const [response] = (await once(outgoing.end(), "response")) as [IncomingMessage];
    response.resume();
    await once(response, "end");
    socket.destroy();
    return { interim, final: response.headers["set-cookie"] };
  }
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  const stream = session.request({ ":path": "/", ":authority": host });
  stream.on("headers", (headers) => interim.push(headers));
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  stream.resume();
  await once(stream, "end");
  session.destroy();
  return { interim, final: headers["set-cookie"] };
}

for (const protocol of protocols) {
  describe(`heads that no response hook sees over ${protocol}`, () => {
    before(() =>
      fixture.answer((_request, response) => {
        const fields = [`Link: ${link}`, "X-Secret: s3cret", ...cookies.map((one) => `Set-Cookie: ${one}`)];
        response.socket?.write(`HTTP/1.1 103 Early Hints\r\n${fields.join("\r\n")}\r\n\r\n`);
        response.setHeader("set-cookie", cookies);
        response.setHeader("x-secret", "s3cret");
        response.end();
      }),
    );

    for (const [what, modules] of Object.entries(others)) {
      it(`I2: heads that no response hook sees set no login cookie over ${protocol}, if a route has ${what}`, async () => {
        fixture.route(modules);
        const { interim, final } = await heads(protocol);
        assert.deepEqual(final, ["own=1"]);
        assert.equal(interim.length, 1);
        assert.equal(interim[0]?.["link"], link);
        assert.deepEqual(interim[0]?.["set-cookie"], ["own=1"]);
        const { status, headers, destroy } = await upgrade(fixture, protocol);
        destroy();
        assert.equal(status, protocol === "h1" ? 101 : 200);
        assert.deepEqual([headers["set-cookie"]].flat(), ["own=1"]);
        assert.equal(headers["x-secret"], "s3cret");
      });
    }

    for (const [what, modules] of Object.entries(judging)) {
      it(`P4: heads that no response hook sees carry no field over ${protocol} that ${what} might have removed`, async () => {
        fixture.route(modules);
        assert.deepEqual((await heads(protocol)).interim, []);
        const { status, headers, destroy } = await upgrade(fixture, protocol);
        destroy();
        assert.equal(status, protocol === "h1" ? 101 : 200);
        assert.equal(headers["set-cookie"], undefined);
        assert.equal(headers["x-secret"], undefined);
        if (protocol === "h1") assert.ok(headers["sec-websocket-accept"]);
      });
    }
  });
}
