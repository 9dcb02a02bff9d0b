import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { request as requestHttps } from "node:https";
import { connect } from "node:tls";
import { describe, it } from "node:test";
import { startTestEdge } from "../../../test/support/edge.ts";
import { httpsEdge } from "../../../test/support/objects.ts";
import { silentLog } from "../../lib/log.ts";
import { octetString } from "../../lib/certificates/der.ts";
import { createSelfSigned, encodeExtension } from "../../lib/certificates/x509.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { makeAcmeChallenges } from "./acme-challenges.ts";

const digest = createHash("sha256").update("token-1.thumb").digest();
const shown = await createSelfSigned({
  names: ["shop.example.com"],
  now: Date.now(),
  days: 1,
  extensions: [encodeExtension("1.3.6.1.5.5.7.1.31", octetString(digest), true)],
});

function challenge(id: string, fields: Readonly<Record<string, string>> = {}): ResourceObject {
  const doc = {
    reserved_domain_id: "rd_1",
    domain: "shop.example.com",
    token: "token-1",
    key_authorization: "token-1.thumb",
    certificate_pem: shown.certificatePem,
    private_key_pem: shown.keyPem,
    ...fields,
  };
  return { kind: "acme_challenge", id, account_id: "ac_1", revision: 1, doc };
}

/** Resolves with the client's view of a handshake: the protocol and the certificate, or the error's code. */
function handshake(
  port: number,
  servername: string,
  protocols: string[],
): Promise<{ alpn: unknown; raw: Buffer } | string> {
  return new Promise((resolve) => {
    const socket = connect({
      host: "127.0.0.1",
      port,
      servername,
      ALPNProtocols: protocols,
      rejectUnauthorized: false,
    });
    socket.on("secureConnect", () => {
      const raw = socket.getPeerX509Certificate()?.raw ?? Buffer.alloc(0);
      const { alpnProtocol: alpn } = socket;
      socket.on("close", () => resolve({ alpn, raw }));
      socket.resume();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

async function request(
  port: number,
  host: string,
  path: string,
  http: "h1" | "h2",
): Promise<{ status: number | undefined; text: string }> {
  const at = { host: "127.0.0.1", port, servername: host, rejectUnauthorized: false };
  let text = "";
  if (http === "h1") {
    const sent = requestHttps({ ...at, path, headers: { host }, agent: false }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
    return { status: response.statusCode, text };
  }
  const session = connectHttp2(`https://${host}`, at);
  const stream = session.request({ ":path": path });
  const [fields] = (await once(stream, "response")) as [IncomingHttpHeaders & IncomingHttpStatusHeader];
  for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  session.close();
  return { status: fields[":status"], text };
}

describe("challenges of certificate authorities", () => {
  const path = "/.well-known/acme-challenge/token-1";

  it("challenges of certificate authorities get an answer at their domain and path until they are withdrawn", () => {
    const challenges = makeAcmeChallenges(silentLog);
    assert.equal(challenges.body("shop.example.com", path), undefined);
    challenges.load([challenge("acmechl_1")]);
    assert.equal(challenges.body("shop.example.com", path), "token-1.thumb");
    assert.equal(challenges.body("www.example.com", path), undefined);
    assert.equal(challenges.body("shop.example.com", `${path}/`), undefined);
    assert.equal(challenges.body("shop.example.com", "/.well-known/acme-challenge/"), undefined);
    const next = challenge("acmechl_2", { token: "token-2", key_authorization: "token-2.thumb" });
    challenges.change([{ kind: "acme_challenge", id: next.id, account_id: "ac_1", object: next }]);
    challenges.change([{ kind: "acme_challenge", id: "acmechl_1", account_id: "ac_1", object: null }]);
    assert.equal(challenges.body("shop.example.com", path), undefined);
    assert.equal(challenges.body("shop.example.com", path.replace("1", "2")), "token-2.thumb");
    challenges.load([]);
    assert.equal(challenges.body("shop.example.com", path.replace("1", "2")), undefined);
  });

  it("challenges of certificate authorities get a separate handshake on the HTTPS listener, other clients do not", async () => {
    const testEdge = await startTestEdge([challenge("acmechl_1"), ...httpsEdge("shop", ["shop.example.com"])]);
    const { port } = testEdge.edge.https;
    const answer = await handshake(port, "shop.example.com", ["acme-tls/1"]);
    assert.ok(typeof answer === "object");
    assert.equal(answer.alpn, "acme-tls/1");
    assert.deepEqual(answer.raw, new X509Certificate(shown.certificatePem).raw);
    const browser = connect({
      host: "127.0.0.1",
      port,
      servername: "shop.example.com",
      ALPNProtocols: ["acme-tls/1", "http/1.1"],
      rejectUnauthorized: false,
    });
    await new Promise((resolve) => browser.once("secureConnect", resolve));
    assert.equal(browser.alpnProtocol, "http/1.1");
    assert.notDeepEqual(browser.getPeerX509Certificate()?.raw, answer.raw);
    browser.destroy();
    testEdge.remove("acme_challenge", "acmechl_1");
    assert.equal(
      await handshake(port, "shop.example.com", ["acme-tls/1"]),
      "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL",
    );
    await testEdge.edge.stop();
  });

  for (const http of ["h1", "h2"] as const) {
    it(`challenges of certificate authorities get their answer over HTTPS before routing (${http})`, async () => {
      const { edge } = await startTestEdge([challenge("acmechl_1"), ...httpsEdge("shop", ["shop.example.com"])]);
      const ask = (target: string) => request(edge.https.port, "shop.example.com", target, http);
      assert.deepEqual(await ask(path), { status: 200, text: "token-1.thumb" });
      assert.notEqual((await ask("/.well-known/acme-challenge/other")).status, 200);
      await edge.stop();
    });
  }

  it("challenges of certificate authorities with invalid data leave the host unchanged", async () => {
    const broken = challenge("acmechl_1", { certificate_pem: "none", private_key_pem: "none" });
    const { edge } = await startTestEdge([broken, ...httpsEdge("shop", ["shop.example.com"])]);
    assert.equal(
      await handshake(edge.https.port, "shop.example.com", ["acme-tls/1"]),
      "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL",
    );
    await edge.stop();
  });
});
