import assert from "node:assert/strict";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { readAnyFile, readNoFile, readPem } from "./bind-options.ts";

const file = fileURLToPath(import.meta.url);

it("G11: values from the local API are never read as files, whatever a check before has let through", () => {
  for (const setting of ["crt", "key", "mutualTlsCas"]) {
    assert.throws(() => readPem(setting, file, readNoFile), /names a file/);
  }
});

it("G11: a key that is neither PEM nor a file is not repeated", () => {
  assert.throws(() => readPem("key", "MC4CAQAwBQYDK2VwBCIEI", readAnyFile), {
    message: "cannot read it as PEM, or a file of that name: ENOENT",
  });
});
