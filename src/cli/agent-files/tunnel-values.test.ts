import assert from "node:assert/strict";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { readAnyFile, readNoFile, readPem } from "./tunnel-values.ts";

const file = fileURLToPath(import.meta.url);

it("G11: values from the local API are never read as files, regardless of earlier checks", () => {
  for (const setting of ["crt", "key", "mutualTlsCas"]) {
    assert.throws(() => readPem(setting, file, readNoFile), /names a file/);
  }
});

it("G11: the message does not repeat a key that is neither PEM nor a file", () => {
  assert.throws(() => readPem("key", "MC4CAQAwBQYDK2VwBCIEI", readAnyFile), {
    message: "cannot read it as PEM, or a file of that name: ENOENT",
  });
});
