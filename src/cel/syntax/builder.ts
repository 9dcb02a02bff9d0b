/** Creates nodes, numbers them, and enforces the limits of number and depth. */
import type { Limits } from "../values/cel-limits.ts";
import { SourceFault } from "./source-fault.ts";
import { childrenOf } from "./tree.ts";
import type { Node } from "./tree.ts";

type Content<N> = N extends Node ? Omit<N, "id" | "at" | "from" | "to" | "depth"> : never;

export interface Span {
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

export class Builder {
  readonly #limits: Limits;
  #nodes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get nodes(): number {
    return this.#nodes;
  }

  /** Throws `SourceFault` if there are too many. */
  node(span: Span, content: Content<Node>): Node {
    const made = { id: this.#nodes, ...span, depth: 1, ...content } as Node;
    let below = 0;
    for (const child of childrenOf(made)) below = Math.max(below, child.depth);
    this.#nodes += 1;
    if (this.#nodes > this.#limits.nodes) {
      throw new SourceFault(span.from, `the expression has more than ${this.#limits.nodes} parts`);
    }
    if (below >= this.#limits.depth) throw faultTooDeep(span.from, this.#limits);
    return { ...made, depth: below + 1 };
  }
}

export function faultTooDeep(offset: number, { depth }: Limits): SourceFault {
  return new SourceFault(offset, `the expression is nested more than ${depth} deep`);
}
