import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import { encodeContext, contextPrimitive, encodeInteger, readDer, encodeSequence } from "../lib/certificates/der.ts";
import {
  createAuthority,
  createSelfSigned,
  encodeExtension,
  issueLeaf,
  newKeyPair,
  signDer,
} from "../lib/certificates/x509.ts";
import type { AcmeAnswer, AcmeConnection } from "./acme-connection.ts";
import { readRenewalWindow, renewalId } from "./renewal-info.ts";

const now = Date.now();
const authority = await createAuthority({ commonName: "Test", now });

/** Returns `pem` with another serial number and only these extensions. */
async function rewritten(pem: string, serial: Buffer, extensions: readonly Buffer[]): Promise<string> {
  const [whole] = readDer(new X509Certificate(pem).raw);
  const [body] = readDer(whole?.body ?? Buffer.alloc(0));
  const fields = readDer(body?.body ?? Buffer.alloc(0)).map((field) => field.whole);
  const [version, , ...rest] = fields as [Buffer, Buffer, ...Buffer[]];
  const { privateKey } = await newKeyPair("ec");
  const parts = [version, encodeInteger(serial), ...rest.slice(0, -1), encodeContext(3, encodeSequence(...extensions))];
  const der = await signDer(encodeSequence(...parts), privateKey);
  return new X509Certificate(der).toString();
}

function answering(document: object, retryAfterMs?: number, status = 200): { asked: string[]; to: AcmeConnection } {
  const asked: string[] = [];
  const answer: AcmeAnswer = {
    status,
    headers: {},
    body: Buffer.alloc(0),
    json: () => ({ ...document }),
    retryAfterMs,
  };
  const send = (_method: string, url: string): Promise<AcmeAnswer> => {
    asked.push(url);
    return Promise.resolve(answer);
  };
  return { asked, to: { send, pause: () => Promise.resolve() } };
}

describe("renewal information", () => {
  it("renewal information is requested under the id of the example in RFC 9773 §4.1", async () => {
    const { certificatePem } = await issueLeaf(authority, { names: ["a.example.com"], now, days: 1 });
    const keyId = Buffer.from("69885b6b87464041e1b37b847ba0ae2cde01c8d4", "hex");
    const named = encodeExtension("2.5.29.35", encodeSequence(contextPrimitive(0, keyId)));
    const example = await rewritten(certificatePem, Buffer.from("87654321", "hex"), [named]);
    assert.equal(renewalId(example), "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
  });

  it("renewal information is not requested if the certificate does not name its authority's key", async () => {
    const { certificatePem } = await createSelfSigned({ names: ["a.example.com"], now, days: 1 });
    const other = encodeExtension("2.5.29.37", encodeSequence());
    assert.equal(renewalId(await rewritten(certificatePem, Buffer.from([1]), [other])), undefined);
  });

  it("renewal information has a window and a time for the next request: a minute to a day, by default six hours", async () => {
    const suggestedWindow = { start: "2026-01-02T04:00:00Z", end: "2026-01-03T04:00:00Z" };
    const hour = 3_600_000;
    const start = Date.UTC(2026, 0, 2, 4);
    for (const [given, kept] of [
      [undefined, 6 * hour],
      [hour, hour],
      [1, 60_000],
      [100 * hour, 24 * hour],
    ] as const) {
      const { asked, to } = answering({ suggestedWindow }, given);
      const window = await readRenewalWindow(to, "https://ca.example/renewal/", "aa.bb");
      assert.deepEqual(window, { start, end: start + 24 * hour, retryAfterMs: kept });
      assert.deepEqual(asked, ["https://ca.example/renewal/aa.bb"]);
    }
  });

  it("malformed renewal information is refused", async () => {
    const backwards = { suggestedWindow: { start: "2026-01-03T04:00:00Z", end: "2026-01-02T04:00:00Z" } };
    for (const document of [{}, { suggestedWindow: null }, { suggestedWindow: { start: "x", end: "y" } }, backwards]) {
      await assert.rejects(
        readRenewalWindow(answering(document).to, "https://ca.example/r", "a.b"),
        /window that cannot be read/,
      );
    }
    await assert.rejects(readRenewalWindow(answering({}, 0, 404).to, "https://ca.example/r", "a.b"), /status 404/);
  });
});
