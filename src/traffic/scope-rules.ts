/** Rules by which requests of clients need further scopes. */
import { defineEnvironment } from "../cel/checking/environment.ts";
import { types } from "../cel/checking/cel-types.ts";
import { standardFunctions } from "../cel/functions/standard.ts";
import { compileSource } from "../cel/program.ts";
import type { StringFormat } from "../schema/fields.ts";
import { JsonIssue, isJsonObject, parseJsonObject } from "../lib/json.ts";

/** What rules read of a request. */
export interface ScopeFacts {
  readonly method: string;
  readonly path: string;
  /** Undefined if the body cannot be read clearly. */
  readonly call: ToolCall | undefined;
}

export interface ToolCall {
  readonly method: string;
  readonly tool: string;
}

export interface ScopeRule {
  readonly scope: string;
  readonly readsBody: boolean;
  /** Whether a request needs the scope. True in case of doubt. */
  needs(facts: ScopeFacts): boolean;
}

const none: ToolCall = { method: "", tool: "" };
const textVariable = (read: (facts: ScopeFacts) => string) => ({ type: types.string, read });

const environment = defineEnvironment({
  variables: {
    "req.method": textVariable(({ method }) => method),
    "req.path": textVariable(({ path }) => path),
    "mcp.method": textVariable(({ call }) => (call ?? none).method),
    "mcp.tool": textVariable(({ call }) => (call ?? none).tool),
  },
  functions: standardFunctions,
  limits: { steps: 10_000 },
});

/** Refuses expressions that do not compile or are not conditions. */
export const scopeExpression: StringFormat = {
  name: "scope-expression",
  example: 'mcp.method == "tools/call" && mcp.tool.startsWith("write_")',
  check(source) {
    const compiled = compileSource(source, environment);
    if (!compiled.ok) return `be an expression: ${compiled.issues[0]?.message ?? "it does not compile"}`;
    return compiled.program.type === types.bool ? undefined : "be true or false";
  },
};

/** Throws for an expression that `scopeExpression` refuses. */
export function compileScopeRule(scope: string, source: string): ScopeRule {
  const wrong = scopeExpression.check(source);
  const compiled = compileSource(source, environment);
  if (wrong !== undefined || !compiled.ok) throw new Error(`compile the rule of scope "${scope}": it must ${wrong}`);
  const { program } = compiled;
  const readsBody = program.variables.some((name) => name.startsWith("mcp."));
  return {
    scope,
    readsBody,
    needs: (facts) => (readsBody && facts.call === undefined) || program.evaluate(facts) !== false,
  };
}

/** Names whose spelling some parsers ignore. */
const read: ReadonlySet<string> = new Set(["method", "params", "name"]);

/** Reads a JSON-RPC call as every parser does. Undefined for a batch, and for anything that parsers read differently. */
export function toolCallIn(body: Buffer): ToolCall | undefined {
  if (body.length === 0) return none;
  try {
    const message = parseJsonObject(body);
    const params = message["params"];
    const named = isJsonObject(params) ? params : {};
    if ([...Object.keys(message), ...Object.keys(named)].some(isMisspelt)) return undefined;
    const [method, tool] = [message["method"], named["name"]];
    return {
      method: typeof method === "string" ? method : "",
      tool: method === "tools/call" && typeof tool === "string" ? tool : "",
    };
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    return undefined;
  }
}

function isMisspelt(name: string): boolean {
  // Long s and the Kelvin sign fold to ASCII letters in some parsers.
  const folded = name.toLowerCase().replaceAll("\u017f", "s");
  return folded !== name && read.has(folded);
}
