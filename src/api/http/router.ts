/** Finds operations by path, with a tree of segments that is built once. */
import type { Operation } from "../operation/call.ts";

export interface Route {
  readonly operations: ReadonlyMap<string, Operation>;
  /** Value of the `Allow` header. */
  readonly allow: string;
  /** Values of the path's parameters, in order. */
  readonly parameters: readonly string[];
}

interface RouteNode {
  readonly children: Map<string, RouteNode>;
  parameter: RouteNode | undefined;
  operations: Map<string, Operation> | undefined;
  allow: string;
}

export function makeRouter(operations: readonly Operation[]): (path: string) => Route | undefined {
  const root = emptyNode();
  for (const operation of operations) {
    let node = root;
    for (const segment of operation.path.slice(1).split("/")) {
      if (segment.startsWith("{")) node = node.parameter ??= emptyNode();
      else node = childOf(node, segment);
    }
    node.operations ??= new Map();
    if (node.operations.has(operation.method))
      throw new Error(`${operation.method} ${operation.path} is declared twice`);
    node.operations.set(operation.method, operation);
    if (operation.method === "GET") node.operations.set("HEAD", operation);
    node.allow = [...node.operations.keys(), "OPTIONS"].join(", ");
  }
  return (path) => {
    const parameters: string[] = [];
    // A trailing slash is ignored (semantics, "Lists").
    const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length;
    let node: RouteNode | undefined = root;
    for (let start = 1; start <= end && node;) {
      const slash = path.indexOf("/", start);
      const stop: number = slash < 0 || slash > end ? end : slash;
      const segment = path.slice(start, stop);
      const child = node.children.get(segment);
      if (!child) {
        if (segment === "") return undefined;
        parameters.push(segment);
      }
      node = child ?? node.parameter;
      start = stop + 1;
    }
    if (!node?.operations) return undefined;
    const decoded = parameters.some((value) => value.includes("%")) ? decodeParameters(parameters) : parameters;
    return decoded && { operations: node.operations, allow: node.allow, parameters: decoded };
  };
}

function decodeParameters(parameters: readonly string[]): string[] | undefined {
  try {
    return parameters.map((value) => decodeURIComponent(value));
  } catch {
    return undefined;
  }
}

function childOf(node: RouteNode, segment: string): RouteNode {
  let child = node.children.get(segment);
  if (!child) node.children.set(segment, (child = emptyNode()));
  return child;
}

function emptyNode(): RouteNode {
  return { children: new Map(), parameter: undefined, operations: undefined, allow: "" };
}
