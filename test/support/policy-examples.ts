/** Every traffic policy in the documentation. */
import { globSync, readFileSync } from "node:fs";
import { parseYaml } from "../../src/lib/yaml.ts";
import type { Layer } from "../../src/policy/language/action.ts";
import { root } from "./command.ts";

export interface DocExample {
  /** File and first line of the example. */
  readonly where: string;
  readonly text: string;
  readonly layer: Layer;
}

const phase = /^(?:on_(?:tcp|http|event)\w+|inbound|outbound):/m;

/** Returns policies, and policies inside tests, from each fenced block of YAML or JSON. */
export function docExamples(): DocExample[] {
  return globSync("{README.md,docs/**/*.md}", { cwd: root, exclude: ["docs/site/{node_modules,dist}/**"] }).flatMap(
    (file) => {
      const page = readFileSync(`${root}${file}`, "utf8");
      return Array.from(page.matchAll(/^```(?:yaml|json)[^\n]*\n([^]*?)^```$/gm)).flatMap(({ 1: text = "", index }) => {
        const where = `${file}:${page.slice(0, index).split("\n").length}`;
        const own = policyOf(text);
        if (own === undefined) return [];
        return [{ where, text: own, layer: /^on_tcp_connect/m.test(own) ? ("tls" as const) : ("http" as const) }];
      });
    },
  );
}

function policyOf(text: string): string | undefined {
  if (phase.test(text)) return text;
  const given = parseYaml(text) as { readonly policy?: string | object };
  if (given.policy === undefined) return undefined;
  return typeof given.policy === "string" ? given.policy : JSON.stringify(given.policy);
}
