/** The rules of the house, as tests: who may import whom, what appears where, and that generated files are fresh. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, it } from "node:test";
import { modules } from "../src/modules/index.ts";
import { generatedFiles } from "../scripts/generated.ts";

/** Folders of src/ that each folder may take values from; types may be taken from `types` as well. */
const allowed: Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }> = {
  lib: { values: [] },
  cel: { values: ["lib"] },
  schema: { values: ["lib"] },
  outbound: { values: ["lib"] },
  http1: { values: ["lib"], types: ["traffic"] },
  webhooks: { values: ["lib", "outbound"] },
  websocket: { values: ["lib"] },
  acme: { values: ["lib", "outbound"] },
  jose: { values: ["lib", "outbound"] },
  traffic: { values: ["lib", "cel", "schema", "webhooks"] },
  identity: { values: ["lib", "schema", "traffic"] },
  policy: { values: ["lib", "cel", "schema", "outbound", "jose", "traffic"] },
  resources: { values: ["lib", "schema", "policy"] },
  modules: { values: ["lib", "cel", "schema", "traffic", "webhooks", "websocket", "identity", "policy"] },
  routing: { values: ["lib", "cel", "schema", "traffic", "modules", "resources"] },
  storage: { values: ["lib", "schema", "resources", "modules"], types: ["traffic", "routing"] },
  api: {
    values: [
      "lib",
      "cel",
      "schema",
      "resources",
      "traffic",
      "modules",
      "storage",
      "webhooks",
      "identity",
      "acme",
      "outbound",
    ],
    types: ["routing"],
  },
  tunnel: { values: ["lib"], types: ["routing"] },
  edge: { values: ["lib", "schema", "outbound", "http1", "traffic", "modules", "routing", "tunnel"] },
  agent: { values: ["lib", "http1", "tunnel"], types: ["routing"] },
  cli: {
    values: [
      "lib",
      "acme",
      "schema",
      "resources",
      "traffic",
      "modules",
      "routing",
      "storage",
      "api",
      "http1",
      "tunnel",
      "edge",
      "agent",
      "webhooks",
      "sdk",
    ],
  },
  "main.ts": { values: ["cli"] },
};

/** Words that belong to one folder. */
const confined: readonly { readonly what: string; readonly pattern: RegExp; readonly to: readonly string[] }[] = [
  { what: "process.env, argv and exit", pattern: /\bprocess\.(env|argv|exit)\b/, to: ["cli", "main.ts"] },
  { what: "the console", pattern: /\bconsole\./, to: ["cli"] },
  { what: "SQL drivers", pattern: /from "(node:sqlite|pg|kysely)"/, to: ["storage"] },
  { what: "fetch, which decodes brotli", pattern: /\bfetch\(/, to: [] },
  {
    what: "http.request on the data path",
    pattern: /from "node:https?"/,
    to: ["api", "cli", "outbound", "agent"],
  },
];

interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
}

const sources = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));

describe("the house", () => {
  it("keeps to its import directions", () => {
    const faults: string[] = [];
    for (const file of sources) {
      const room = roomOf(file);
      const rule = allowed[room];
      if (!rule) {
        faults.push(`${file}: the folder "${room}" has no line in the table`);
        continue;
      }
      for (const { target, typeOnly } of importsOf(file)) {
        const other = roomOf(target);
        if (other === room || rule.values.includes(other)) continue;
        if (typeOnly && rule.types?.includes(other)) continue;
        faults.push(`${file} imports ${typeOnly ? "types" : "values"} of ${target}`);
      }
    }
    assert.deepEqual(faults, []);
  });

  it("has no import cycles among values", () => {
    const graph = new Map(
      sources.map((file) => [
        file,
        importsOf(file)
          .filter((one) => !one.typeOnly)
          .map((one) => one.target),
      ]),
    );
    const done = new Set<string>();
    const path: string[] = [];
    const visit = (file: string): void => {
      const at = path.indexOf(file);
      assert.equal(at, -1, `cycle: ${[...path.slice(at), file].join(" → ")}`);
      if (done.has(file)) return;
      path.push(file);
      for (const next of graph.get(file) ?? []) visit(next);
      path.pop();
      done.add(file);
    };
    for (const file of sources) visit(file);
  });

  for (const { what, pattern, to } of confined) {
    it(`confines ${what} to ${to.join(", ") || "nowhere"}`, () => {
      const faults = sources.filter((file) => !to.includes(roomOf(file)) && pattern.test(code(file)));
      assert.deepEqual(faults, []);
    });
  }

  it("keeps the SDK to itself: nothing of src/, no package, nothing of Node", () => {
    const files = globSync("sdk/src/**/*.ts");
    assert.ok(files.length > 0);
    const imports = files.flatMap((file) =>
      [...code(file).matchAll(/\b(?:from|import) ?\(?"([^"]+)"/g)].map(([, one]) => one as string),
    );
    assert.deepEqual(
      imports.filter((one) => !/^\.{1,2}\/(generated\/)?[\w-]+\.ts$/.test(one)),
      [],
    );
  });

  it("has no default exports, and index.ts only where it is the list", () => {
    const faults = sources.filter((file) => /^export default/m.test(code(file)));
    assert.deepEqual(faults, []);
    const lists = sources.filter((file) => file.endsWith("/index.ts")).sort();
    assert.deepEqual(lists, ["src/modules/index.ts", "src/policy/actions/index.ts", "src/resources/index.ts"]);
  });

  it("names a module in its own file and in the list, not in the API or in storage", () => {
    // These two are words of the API as well: the live state of backends, and the account's own restrictions.
    const names = modules.map(({ name }) => name).filter((name) => !["backend", "ip_restriction"].includes(name));
    const generic = sources.filter((file) => ["api", "storage"].includes(roomOf(file)));
    const faults = generic.flatMap((file) =>
      names.filter((name) => code(file).includes(`"${name}"`)).map((name) => `${file}: ${name}`),
    );
    assert.deepEqual(faults, []);
  });

  it("has generated files as the declarations would make them now", async () => {
    for (const [path, text] of await generatedFiles()) {
      // Not `equal`, whose message would hold both whole files.
      assert.ok(readFileSync(path, "utf8") === text, `${path} is stale: run \`npm run generate\``);
    }
  });

  it("imports types as statements of their own, which type stripping removes whole", () => {
    const faults = sources.filter((file) => /^import \{[^}]*\btype [A-Za-z]/m.test(code(file)));
    assert.deepEqual(faults, []);
  });
});

function code(file: string): string {
  return readFileSync(file, "utf8");
}

/** The folder of src/ that a file belongs to; the file's own name when it is in none; `sdk` is a room of its own. */
function roomOf(file: string): string {
  if (file.startsWith("sdk/")) return "sdk";
  return file.split("/")[1] ?? file;
}

function importsOf(file: string): Import[] {
  const found: Import[] = [];
  for (const match of code(file).matchAll(
    /^(import|export)( type)? [^;]*?from "(\.[^"]+)";|import\("(\.[^"]+)"\)/gms,
  )) {
    const target = match[3] ?? match[4];
    if (target) found.push({ target: normalize(join(dirname(file), target)), typeOnly: match[2] !== undefined });
  }
  return found;
}
