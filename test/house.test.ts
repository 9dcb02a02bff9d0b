/** The rules of the house as tests: imports between folders, where words may appear, and fresh generated files. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { parseAst } from "rolldown/parseAst";
import { modules } from "../src/modules/index.ts";
import { generatedFiles } from "../scripts/generated.ts";
import { importsOf } from "../scripts/imports.ts";
import { programNames } from "./support/programs.ts";

/** Folders of src/ from which each folder may import values. It may import types from `types` as well. */
const allowed: Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }> = {
  lib: { values: [] },
  cel: { values: ["lib"] },
  geo: { values: ["lib", "outbound"] },
  schema: { values: ["lib"] },
  outbound: { values: ["lib"] },
  settings: { values: ["lib", "acme"] },
  telemetry: { values: ["lib", "outbound"] },
  http1: { values: ["lib"], types: ["traffic"] },
  http2: { values: ["http1"] },
  webhooks: { values: ["lib", "outbound"] },
  websocket: { values: ["lib"] },
  acme: { values: ["lib", "outbound"] },
  jose: { values: ["lib", "outbound"] },
  directory: { values: ["lib"] },
  traffic: { values: ["lib", "cel", "geo", "schema", "webhooks"], types: ["settings"] },
  identity: { values: ["lib", "schema", "outbound", "traffic", "jose"], types: ["settings"] },
  sso: { values: ["lib", "identity"] },
  policy: { values: ["lib", "cel", "geo", "schema", "traffic", "webhooks", "outbound", "jose"] },
  resources: { values: ["lib", "schema", "policy", "ssh"] },
  modules: {
    values: ["lib", "cel", "geo", "schema", "settings", "traffic", "webhooks", "websocket", "identity", "policy"],
  },
  routing: {
    values: ["lib", "cel", "schema", "traffic", "modules", "resources"],
    types: ["identity", "directory", "capture"],
  },
  storage: { values: ["lib", "schema", "settings", "resources", "modules"], types: ["traffic", "routing"] },
  api: {
    values: [
      "lib",
      "cel",
      "schema",
      "directory",
      "resources",
      "traffic",
      "policy",
      "modules",
      "storage",
      "webhooks",
      "identity",
      "acme",
      "outbound",
      "pages",
      "mcp",
    ],
    types: ["routing", "settings"],
  },
  mcp: { values: ["lib"] },
  tunnel: { values: ["lib"], types: ["routing"] },
  capture: { values: ["lib"], types: ["traffic", "routing"] },
  edge: {
    values: [
      "lib",
      "geo",
      "schema",
      "outbound",
      "http1",
      "http2",
      "websocket",
      "directory",
      "traffic",
      "identity",
      "modules",
      "routing",
      "tunnel",
      "capture",
      "telemetry",
    ],
    types: ["settings"],
  },
  backtest: {
    values: [
      "lib",
      "geo",
      "cel",
      "schema",
      "http1",
      "traffic",
      "identity",
      "policy",
      "modules",
      "routing",
      "capture",
      "edge",
    ],
    types: ["settings", "tunnel"],
  },
  agent: { values: ["lib", "http1", "http2", "tunnel"], types: ["routing"] },
  ssh: { values: ["lib", "tunnel", "agent"] },
  inspector: { values: ["lib", "http1", "http2", "tunnel", "agent", "pages", "webhooks"] },
  pages: { values: ["lib"] },
  import: { values: ["lib", "schema", "resources", "api"] },
  cli: {
    values: [
      "lib",
      "import",
      "settings",
      "policy",
      "routing",
      "storage",
      "api",
      "edge",
      "geo",
      "backtest",
      "agent",
      "capture",
      "telemetry",
      "inspector",
      "webhooks",
      "sdk",
      "sso",
      "ssh",
    ],
  },
  "main.ts": { values: ["cli"] },
};

/** Words that only certain folders may use. */
const confined: readonly { readonly what: string; readonly pattern: RegExp; readonly to: readonly string[] }[] = [
  { what: "process.env, argv and exit", pattern: /\bprocess\.(env|argv|exit)\b/, to: ["cli", "main.ts"] },
  { what: "writing to the terminal", pattern: /\bconsole\.(log|error|warn|info|debug|table|trace)\b/, to: ["cli"] },
  { what: "SQL drivers", pattern: /from "(node:sqlite|pg|kysely)"/, to: ["storage"] },
  { what: "fetch, which decodes brotli", pattern: /\bfetch\(/, to: [] },
  {
    what: "http.request on the data path",
    pattern: /import (?!type )[^;]*from "(node:https?|.*\/lib\/http\.ts)"/,
    to: ["api", "cli", "outbound", "agent", "inspector", "sso"],
  },
];

const sources = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));

describe("the house", () => {
  it("the house allows imports between folders only as in its table", () => {
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

  it("the house has no import cycles among values", () => {
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

  describe("folders inside a room have no import cycle", () => {
    for (const room of Object.keys(allowed)) {
      const arrows = arrowsInside(room);
      const back = arrows.filter(([from, to]) => isReached(arrows, to, from)).map((arrow) => arrow.join(" → "));
      it(room, () => assert.deepEqual(back, []));
    }
  });

  for (const { what, pattern, to } of confined) {
    it(`the house confines ${what} to ${to.join(", ") || "nowhere"}`, () => {
      const faults = sources.filter((file) => !to.includes(roomOf(file)) && pattern.test(code(file)));
      assert.deepEqual(faults, []);
    });
  }

  it("the house allows the SDK to import only its own files: no src/, no package, nothing of Node", () => {
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

  it("the house has no default exports, and index.ts only for lists", () => {
    const faults = sources.filter((file) => /^export default/m.test(code(file)));
    assert.deepEqual(faults, []);
    const lists = sources.filter((file) => file.endsWith("/index.ts")).sort();
    assert.deepEqual(lists, ["src/modules/index.ts", "src/policy/actions/index.ts", "src/resources/index.ts"]);
  });

  it("the house names a module in its own file and in the list, not in the API or in storage", () => {
    // The API uses these words as well: for the live state of backends, the account's own restrictions, and its MCP server.
    const shared = new Set(["backend", "ip_restriction", "mcp"]);
    const names = modules.map(({ name }) => name).filter((name) => !shared.has(name));
    const generic = sources.filter((file) => ["api", "storage"].includes(roomOf(file)));
    const faults = generic.flatMap((file) =>
      names.filter((name) => code(file).includes(`"${name}"`)).map((name) => `${file}: ${name}`),
    );
    assert.deepEqual(faults, []);
  });

  it("the house has generated files that match the declarations", async () => {
    for (const [path, text] of await generatedFiles()) {
      // `equal` would put both whole files into its message.
      assert.ok(readFileSync(path, "utf8") === text, `${path} is stale: run \`npm run generate\``);
    }
  });

  it("the house describes on one page the purpose of each file of test/support", () => {
    const page = code("test/README.md");
    const files = globSync("test/support/*.ts").map((file) => file.slice("test/support/".length));
    assert.deepEqual(
      files.filter((file) => !page.includes(`\`${file}\``)),
      [],
    );
    const named = [...page.matchAll(/`([\w-]+\.ts)`/g)].map(([, file]) => file as string);
    assert.deepEqual(
      named.filter((file) => !files.includes(file)),
      [],
    );
  });

  it("the house skips each test that runs an optional program if the program is missing", () => {
    const runs = /\b(?:spawn|spawnSync|execFile|execFileSync|run)\(\s*"([\w-]+)"/g;
    const missing = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).flatMap((file) => {
      const text = code(file);
      const used = [...text.matchAll(runs)].map(([, program = ""]) => program);
      if (text.includes("support/refused-upload.ts") && /\b(?:curl|uploadRefused)\(/.test(text)) used.push("curl");
      const optional = used.filter((program) => programNames.some((name) => name === program));
      return optional.filter((program) => !skipsWithout(text, program)).map((program) => `${file}: ${program}`);
    });
    assert.deepEqual(missing, []);
  });

  it("the house has test titles that make sense alone: each begins with its subject", () => {
    const dependent =
      /\b(?:it|test)\(\s*["`](?:[A-Z]\d+(?:, |: ))*(is|are|was|has|have|does|do|can|may|that|which|whose|with|of|and|nor|when|until|also|refuses?|takes?|keeps?|shows?|says?|answers?|closes|tells|gives|leaves)\b[^"`]*/g;
    const faults = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).flatMap((file) =>
      [...code(file).matchAll(dependent)].map(([text]) => `${file}: ${text}`),
    );
    assert.deepEqual(faults, []);
  });

  it("the house names errors in tests by the catalogue's names, and by numbers only where a client's own code compares them", () => {
    const clients = ["test/api/ngrok-api-client.test.ts"];
    const numbered = globSync(["src/**/*.test.ts", "test/**/*.ts"]).filter((file) =>
      /ERR_POSTERN_\d{2,}/.test(code(file)),
    );
    assert.deepEqual(numbered, clients);
  });

  it("the house loads the inspector, HTTP/2 and pages with no command of an agent before they are used", () => {
    const started = ["http", "start", "tcp", "tls", "dev"].map((name) => `src/cli/commands/${name}.ts`);
    const loaded = new Set(started);
    for (const file of loaded) {
      for (const { target, typeOnly, isLate } of importsOf(file)) if (!typeOnly && !isLate) loaded.add(target);
    }
    const unused = [...loaded].filter((file) => ["inspector", "http2", "pages"].includes(roomOf(file)));
    assert.deepEqual(unused, []);
    assert.ok(loaded.has("src/agent/forward.ts"), "what they do use is found");
  });

  it("the house handles a promise in two steps where traffic passes: in then(a, b), an error that a throws escapes b", () => {
    const found = globSync("src/{edge,tunnel,agent,api,ssh}/**/*.ts")
      .filter((file) => !file.endsWith(".test.ts"))
      .flatMap((file) => handledInOneStep(readFileSync(file, "utf8")).map((line) => `${file}:${line}`));
    assert.deepEqual(found, []);
    assert.deepEqual(handledInOneStep("made\n.then(a, b).then(c)"), [2]);
  });

  it("the house imports node:http from lib/http.ts, which makes every start faster", () => {
    const files = globSync(["src/**/*.ts", "test/**/*.ts"]);
    assert.deepEqual(
      files.filter((file) => /^import (?!type )[^;]* from "node:http"/m.test(code(file))),
      [],
    );
  });

  it("the house imports types as separate statements, which type stripping removes whole", () => {
    const faults = sources.filter((file) => /^import \{[^}]*\btype [A-Za-z]/m.test(code(file)));
    assert.deepEqual(faults, []);
  });
});

function code(file: string): string {
  return readFileSync(file, "utf8");
}

/**
 * Returns the folder of src/ to which a file belongs, or the file's own name outside the folders. `sdk` is a separate
 * room.
 */
function roomOf(file: string): string {
  if (file.startsWith("sdk/")) return "sdk";
  return file.split("/")[1] ?? file;
}

/**
 * Returns the pairs of folders inside a room with imports from one to the other, of values or of types. The room itself
 * counts as a folder.
 */
function arrowsInside(room: string): (readonly [from: string, to: string])[] {
  const arrows = new Map<string, readonly [from: string, to: string]>();
  for (const file of sources.filter((one) => one.startsWith(`src/${room}/`))) {
    for (const { target } of importsOf(file)) {
      const [from, to] = [dirname(file), dirname(target)];
      if (target.startsWith(`src/${room}/`) && from !== to) arrows.set(`${from} ${to}`, [from, to]);
    }
  }
  return [...arrows.values()];
}

/** Whether the arrows lead from one folder to another. */
function isReached(arrows: readonly (readonly [from: string, to: string])[], from: string, to: string): boolean {
  const reached = new Set([from]);
  for (const folder of reached) for (const [start, end] of arrows) if (start === folder) reached.add(end);
  return reached.has(to);
}

/** Returns the lines of calls of `then` with two handlers. */
function handledInOneStep(source: string): readonly number[] {
  const lines: number[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (value === null || typeof value !== "object") return;
    const { type, callee, arguments: given } = value as CallNode;
    if (type === "CallExpression" && callee?.property?.name === "then" && given?.length === 2) {
      lines.push(source.slice(0, callee.property.start).split("\n").length);
    }
    Object.values(value).forEach(visit);
  };
  visit(parseAst(source, { lang: "ts" }));
  return lines;
}

interface CallNode {
  readonly type: string;
  readonly callee?: { readonly property?: { readonly name?: string; readonly start: number } };
  readonly arguments?: readonly unknown[];
}

/** Whether a test names the program in a call of `skipWithout`. */
function skipsWithout(text: string, program: string): boolean {
  return [...text.matchAll(/skipWithout\(([^)]*)\)/g)].some(([, names = ""]) => names.includes(`"${program}"`));
}
