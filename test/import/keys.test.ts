/** The tables of documented keys: a file with the key reaches each row, and the row has a useful text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { importCaddy } from "../../src/import/caddy/import-caddy.ts";
import { caddyKeys, caddyRows } from "../../src/import/caddy/caddy-keys.ts";
import { importCloudflared } from "../../src/import/cloudflared/import-cloudflared.ts";
import { cloudflaredKeys } from "../../src/import/cloudflared/cloudflared-keys.ts";
import { frpcKeys } from "../../src/import/frp/frpc-keys.ts";
import { importFrp } from "../../src/import/frp/import-frp.ts";
import { frpsKeys } from "../../src/import/frp/frps-keys.ts";
import type { KeyRow } from "../../src/import/ledger/ledger.ts";
import { importPangolin } from "../../src/import/pangolin/import-pangolin.ts";
import { pangolinKeys } from "../../src/import/pangolin/pangolin-keys.ts";
import type { Imported } from "../../src/import/report/report.ts";

type Tree = Readonly<Record<string, unknown>>;

const tables: readonly (readonly [name: string, rows: readonly KeyRow[], read: (tree: Tree) => Imported])[] = [
  [
    "frpc",
    frpcKeys,
    (tree) => importFrp([{ file: "frpc.yaml", text: JSON.stringify({ serverPort: 7000, ...tree }) }], "x"),
  ],
  ["frps", frpsKeys, (tree) => importFrp([{ file: "frps.yaml", text: JSON.stringify(tree) }], "x")],
  ["cloudflared", cloudflaredKeys, (tree) => importCloudflared("config.yml", JSON.stringify(tree), "x")],
  ["Caddy", caddyKeys, (tree) => importCaddy("caddy.json", JSON.stringify(tree), "x")],
  ["Pangolin", pangolinKeys, (tree) => importPangolin("blueprint.yaml", JSON.stringify(tree), "x")],
];

/** Returns a file with one key. */
function treeOf(key: string): Tree {
  const steps = key.replaceAll("[]", ".[]").split(".");
  return steps.reduceRight<unknown>(
    (inner, step) => (step === "[]" ? [inner] : { [step === "*" ? "name" : step]: inner }),
    "value",
  ) as Tree;
}

for (const [name, rows, read] of tables) {
  describe(`the keys of ${name}`, () => {
    it(`the keys of ${name} appear once, and have a text about their import`, () => {
      const keys = rows.map(({ key }) => key);
      assert.deepEqual(
        keys.filter((key, index) => keys.indexOf(key) !== index),
        [],
      );
      assert.deepEqual(
        rows.filter(({ text }) => text.length < 4 || /\.$|TODO/.test(text)),
        [],
      );
      // Each omitted key has advice or a description of the replacement.
      assert.deepEqual(
        rows.filter(({ kind, text }) => kind === "left out" && text.length < 25),
        [],
      );
    });

    it(`the keys of ${name} are found in a file that contains them`, () => {
      for (const { key } of rows) {
        const { report } = read(treeOf(key));
        const lines = report.filter((line) => line.key.replaceAll(/\[\d+\]/g, "[]") === key.replaceAll("*", "name"));
        assert.equal(lines.length, 1, `${key}: ${JSON.stringify(report)}`);
        assert.doesNotMatch(lines[0]?.text ?? "", /unknown to the import/);
      }
    });

    it(`the keys of ${name} do not include a misspelled one: it is omitted, and counts as a guard`, () => {
      const [{ key }] = rows as readonly [KeyRow];
      const wrong = `${key.replace(/\.[^.]*$/, "")}Misspelled`;
      const { report } = read(treeOf(wrong));
      const line = report.find((one) => one.key.includes("Misspelled"));
      assert.deepEqual([line?.kind, line?.guardsAccess], ["left out", true], JSON.stringify(report));
    });
  });
}

it("the keys of Caddy's handlers and matchers have a text about their import", () => {
  assert.ok(caddyRows.length > 10 && caddyRows.every(({ text }) => text.length > 8));
});
