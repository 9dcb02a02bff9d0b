/**
 * Cost of typical expressions per evaluation, compared with `@bufbuild/cel` on the same values; and cost of
 * compilation.
 */
import { celEnv, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { defineEnvironment } from "../src/cel/checking/environment.ts";
import { listOf, mapOf, types } from "../src/cel/checking/cel-types.ts";
import { standardFunctions } from "../src/cel/functions/standard.ts";
import { stringFunctions } from "../src/cel/functions/strings.ts";
import { compileSource } from "../src/cel/program.ts";
import { interleave, median, table, verdict } from "./support/report.ts";

const rounds = 7;
const ours = "ns/evaluation";
const theirs = "@bufbuild/cel ns";

const given = {
  method: "POST",
  path: "/admin/users",
  host: "shop.example.test",
  headers: { "x-tier": ["gold"], "user-agent": ["Mozilla/5.0 (X11; Linux x86_64) examplebot/1.0"] },
  status: 404n,
  numbers: Array.from({ length: 20 }, (_, at) => BigInt(at)),
};
type Given = typeof given;
const toTheirs = { ...given, headers: new Map(Object.entries(given.headers)) };

/** Typical expressions, each of which may take 300 ns. */
const usual: Readonly<Record<string, string>> = {
  "one comparison": "method == 'POST'",
  "three conditions": "path.startsWith('/admin/') && method != 'GET' && host.endsWith('.test')",
  "one of a list": "!(method in ['GET', 'HEAD', 'OPTIONS'])",
  "a header": "headers['x-tier'][0] == 'gold'",
  "no such header": "headers['x-none'][0] == 'gold' || method == 'POST'",
  "a status": "status >= 400 && status < 500",
  "a part of a name": "host.split('.example.test')[0] == 'shop'",
};
/** Expensive expressions, which read every character or every item. */
const expressions = {
  ...usual,
  "a regular expression": "headers['user-agent'].exists(v, v.matches('(?i)bot'))",
  "a list of twenty": "numbers.filter(x, x % 2 == 0).map(x, x * 2).size() == 10",
};

const environment = defineEnvironment({
  variables: {
    method: { type: types.string, read: ({ method }: Given) => method },
    path: { type: types.string, read: ({ path }: Given) => path },
    host: { type: types.string, read: ({ host }: Given) => host },
    headers: { type: mapOf(types.string, listOf(types.string)), read: ({ headers }: Given) => headers },
    status: { type: types.int, read: ({ status }: Given) => status },
    numbers: { type: listOf(types.int), read: ({ numbers }: Given) => numbers },
  },
  functions: [...standardFunctions, ...stringFunctions],
});
const theirEnvironment = celEnv({ funcs: strings });

function compiled(source: string): () => unknown {
  const result = compileSource(source, environment, { result: types.bool });
  if (!result.ok) throw new Error(`${source}: ${result.issues[0]?.message}`);
  return () => result.program.evaluate(given);
}

function planned(source: string): () => unknown {
  const evaluate = plan(theirEnvironment, parse(source));
  return () => evaluate(toTheirs as never);
}

/** Returns the nanoseconds per call. */
function nanoseconds(act: () => unknown, times: number): number {
  const start = process.hrtime.bigint();
  for (let at = 0; at < times; at += 1) act();
  return Number(process.hrtime.bigint() - start) / times;
}

const contenders = Object.entries(expressions).map(([name, source]) => {
  const [mine, other] = [compiled(source), planned(source)];
  if (mine() !== true || other() !== true) throw new Error(`${source} is not true for both`);
  return {
    name,
    measure: (): Promise<Readonly<Record<string, number>>> =>
      Promise.resolve({
        [ours]: nanoseconds(mine, 100_000),
        [theirs]: nanoseconds(other, 4000),
        "compile µs": nanoseconds(() => compiled(source), 300) / 1000,
      }),
  };
});
const samples = await interleave(contenders, rounds);
table("Expressions, evaluated again and again", samples);
const of = (name: string, figure: string): number =>
  median((samples.get(name) ?? []).map((row) => row[figure] as number));
process.stdout.write("\n@bufbuild/cel / ours\n");
for (const name of Object.keys(expressions)) {
  process.stdout.write(`  ${name.padEnd(28)} ${(of(name, theirs) / of(name, ours)).toFixed(1)}\n`);
}
verdict("ns of the dearest usual expression", Math.max(...Object.keys(usual).map((name) => of(name, ours))), {
  atMost: 300,
});
