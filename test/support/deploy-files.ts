/** The files of `deploy/`: read, checked for unknown settings, and rendered if they are a Helm chart. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { variableOf } from "../../src/settings/setting.ts";
import { platformSettings } from "../../src/settings/settings.ts";
import { root } from "./command.ts";

export type Variables = Readonly<Record<string, string>>;

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // The shape is what the tests are about.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [field: string]: any;
}

export function deployText(path: string): string {
  return readFileSync(join(root, "deploy", path), "utf8");
}

/** Reads a file with one document. `<<` merges mappings, as in Compose. */
export function deployYaml(path: string): unknown {
  return parse(deployText(path), { merge: true }) as unknown;
}

export function objectsIn(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as KubernetesObject;
  });
}

/** Fails for a variable that `postern serve` does not read, and for a value that it rejects. */
export function checkSettings(variables: Variables): void {
  const settings = new Map(
    Object.entries(platformSettings).map(([name, setting]) => [variableOf(name, setting), setting]),
  );
  for (const [name, value] of Object.entries(variables)) {
    const setting = settings.get(name);
    if (setting) setting.read(setting.many ? value.split(",") : [value]);
    else assert.ok(settings.get(name.replace(/_FILE$/, ""))?.secret, `postern serve does not read ${name}`);
  }
}

/**
 * Renders a template of our chart. Supports only what the chart uses: values, `quote`, `if` and a `range` over a
 * mapping, each of the last two on its own lines. Throws for anything else.
 */
export function renderTemplate(template: string, values: object): string {
  const lines: string[] = [];
  const source = template.split("\n");
  for (let at = 0; at < source.length; at += 1) {
    const line = source[at] as string;
    const [, word, argument = ""] = /^\{\{- (if|range \$name, \$value :=) (\S+) \}\}$/.exec(line) ?? [];
    if (word === undefined) {
      lines.push(line.replaceAll(/\{\{(.*?)\}\}/g, (_, expression: string) => valueOf(expression, values)));
      continue;
    }
    const end = source.indexOf("{{- end }}", at);
    assert.ok(end > at, `no end of "${line}"`);
    const inner = source.slice(at + 1, end).join("\n");
    const found = lookUp(argument, values);
    if (word === "if" && found === true) lines.push(renderTemplate(inner, values));
    if (word !== "if") {
      for (const [name, value] of Object.entries(found as object)) {
        lines.push(renderTemplate(inner, { $name: name, $value: value as unknown }));
      }
    }
    at = end;
  }
  return lines.join("\n");
}

function valueOf(expression: string, values: object): string {
  const [, path = "", filter] = /^ ([.$][\w.$]+)( \| quote)? $/.exec(expression) ?? [];
  assert.ok(path, `the renderer of the tests does not know "{{${expression}}}"`);
  const value = lookUp(path, values);
  return filter === undefined ? String(value) : JSON.stringify(String(value));
}

function lookUp(path: string, values: object): unknown {
  let found: unknown = values;
  for (const name of path.replace(/^\./, "").split(".")) {
    assert.ok(typeof found === "object" && found !== null && name in found, `the chart has no value "${path}"`);
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}
