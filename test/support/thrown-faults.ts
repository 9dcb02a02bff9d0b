/**
 * Makes any function of the sources throw once. Import this before any module of `src`. Node's module hooks add a check
 * at the start of every function in the rooms that handle traffic. Nothing changes on disk.
 */
import { registerHooks } from "node:module";
import { parseAst } from "rolldown/parseAst";

/** Rooms with functions that a visitor, an agent or an upstream can reach. */
const rooms =
  /\/src\/(?:edge|http1|http2|identity|modules|policy|routing|traffic|tunnel|webhooks|websocket|cel)\/[^?]+\.ts$/;

interface Faults {
  /** `file:line` of each function, by its number. */
  readonly names: readonly string[];
  /** Returns the number of calls of a function since the last `reset`. */
  calls(number: number): number;
  /** Makes one call of this function throw: the first, or the one after `skipped` others. */
  arm(number: number, skipped?: number): void;
  /** Disarms all functions; returns whether the armed function has thrown. */
  disarm(): boolean;
  reset(): void;
}

const names: string[] = [];
let calls = new Uint32Array(1 << 16);
let armed = -1;
let left = 0;

const check = (number: number): void => {
  calls[number] = (calls[number] as number) + 1;
  if (number !== armed) return;
  if (left > 0) left -= 1;
  else {
    armed = -1;
    throw new Error(`thrown in ${names[number]}`);
  }
};
Object.assign(globalThis, { posternFault: check });

export const faults: Faults = {
  names,
  calls: (number) => calls[number] as number,
  arm(number, skipped = 0) {
    armed = number;
    left = skipped;
  },
  disarm() {
    const hasThrown = armed === -1;
    armed = -1;
    return hasThrown;
  },
  reset: () => void (calls = new Uint32Array(1 << 16)),
};

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!rooms.test(url) || url.endsWith(".test.ts")) return loaded;
    const source =
      typeof loaded.source === "string" ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString();
    return { ...loaded, source: instrument(source, url.slice(url.indexOf("/src/") + 1)) };
  },
});

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly body?: Node | readonly Node[] | null;
  readonly block?: Node;
  readonly expression?: boolean;
}

const inert: ReadonlySet<string> = new Set(["Identifier", "Literal"]);

/** Whether the body of a function does anything. */
function canThrow(body: Node): boolean {
  return body.type === "BlockStatement" ? statementsOf(body).length > 0 : !inert.has(body.type);
}

function statementsOf(block: Node): readonly Node[] {
  return block.body as readonly Node[];
}

/**
 * Returns the place of the check. It is inside a `try` if the function consists of one, because code can only throw
 * there.
 */
function beginningOf(body: Node): number {
  const [first] = statementsOf(body);
  return (first?.type === "TryStatement" ? (first.block as Node) : body).start + 1;
}

/** Adds the check to every function that has a body. Line numbers do not change. */
function instrument(source: string, file: string): string {
  const insertions: [at: number, text: string][] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (value === null || typeof value !== "object") return;
    const node = value as Node;
    if (
      node.type === "FunctionDeclaration" ||
      node.type === "FunctionExpression" ||
      node.type === "ArrowFunctionExpression"
    ) {
      const body = node.body as Node | null | undefined;
      if (body && canThrow(body)) {
        const number = names.push(`${file}:${source.slice(0, node.start).split("\n").length}`) - 1;
        if (body.type === "BlockStatement") insertions.push([beginningOf(body), `posternFault(${number});`]);
        else {
          insertions.push([body.start, `(posternFault(${number}),(`]);
          insertions.push([body.end, "))"]);
        }
      }
    }
    for (const [key, child] of Object.entries(node)) if (key !== "type") visit(child);
  };
  visit(parseAst(source, { lang: "ts" }));
  let text = source;
  // Of two checks at the same place, the inner one is inserted first.
  for (const [at, added] of insertions.sort(([a], [b]) => b - a)) text = text.slice(0, at) + added + text.slice(at);
  return text;
}
