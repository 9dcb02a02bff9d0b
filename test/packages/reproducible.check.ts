/** A second build of the same commit has the same bytes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeBillOfMaterials } from "../../scripts/release/bill-of-materials.ts";
import { npmPackagePath, buildNpmPackage } from "../../scripts/release/npm-package.ts";
import { sha256 } from "../../scripts/release/notes.ts";

describe("a second build", () => {
  it("gives the same npm package", async () => {
    await buildNpmPackage();
    const first = sha256(npmPackagePath);
    await buildNpmPackage();
    assert.equal(sha256(npmPackagePath), first);
  });

  it("gives the same bill of materials, which lists Node", () => {
    const first = sha256(writeBillOfMaterials());
    assert.equal(sha256(writeBillOfMaterials()), first);
  });
});
