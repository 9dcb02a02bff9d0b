import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { describe, it } from "node:test";
import { createSigningRequest } from "./signing-request.ts";
import { skipWithout } from "../../../test/support/programs.ts";

function openssl(request: Buffer, ...options: readonly string[]): string {
  const run = spawnSync("openssl", ["req", "-inform", "DER", "-noout", ...options], { input: request });
  assert.equal(run.status, 0, run.stderr.toString());
  return run.stdout.toString() + run.stderr.toString();
}

describe("a signing request", () => {
  for (const keyType of ["ec", "rsa"] as const) {
    it(
      `a signing request for an ${keyType} key contains its hosts, is signed by its key, and OpenSSL accepts it`,
      { skip: skipWithout("openssl") },
      async () => {
        const { request, keyPem } = await createSigningRequest(["a.example.com", "*.b.example.com"], keyType);
        assert.match(openssl(request, "-verify"), /verify OK/);
        assert.match(openssl(request, "-text"), /DNS:a\.example\.com, DNS:\*\.b\.example\.com/);
        const key = createPrivateKey(keyPem);
        assert.equal(key.asymmetricKeyType, keyType);
        const own = createPublicKey(keyPem).export({ type: "spki", format: "pem" }) as string;
        assert.ok(openssl(request, "-pubkey").includes(own));
      },
    );
  }

  it("a signing request is not created for invalid names", async () => {
    await assert.rejects(createSigningRequest(["not a name"], "ec"), /not a DNS name/);
  });
});
