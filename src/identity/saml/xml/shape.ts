import { elementsIn, XmlIssue } from "./element.ts";
import type { XmlElement } from "./element.ts";

/** The allowed children of an element, as in its schema: each step once, or as its suffix says. */
export interface Shape {
  readonly steps: readonly ShapeStep[];
}

interface ShapeStep {
  /** Alternatives, each `{namespace}local`. */
  readonly names: readonly string[];
  readonly least: 0 | 1;
  readonly most: number;
}

/** The children by local name, in document order. */
export type Parts = Readonly<Record<string, readonly XmlElement[] | undefined>>;

/**
 * `["saml:Issuer?", "samlp:Status", "saml:Assertion|saml:EncryptedAssertion*"]`: `?` at most once, `*` any number,
 * otherwise exactly once.
 */
export function shapeOf(namespaces: Readonly<Record<string, string>>, steps: readonly string[]): Shape {
  return {
    steps: steps.map((step) => {
      const mark = step.at(-1);
      const names = step.replace(/[?*]$/, "").split("|");
      return {
        names: names.map((name) => {
          const [prefix = "", local = ""] = name.split(":");
          return `{${namespaces[prefix] as string}}${local}`;
        }),
        least: mark === "?" || mark === "*" ? 0 : 1,
        most: mark === "*" ? Number.POSITIVE_INFINITY : 1,
      };
    }),
  };
}

/** Throws `XmlIssue` unless the children of `element` match the shape in order. */
export function partsOf(element: XmlElement, shape: Shape): Parts {
  const found: Record<string, XmlElement[]> = {};
  const children = elementsIn(element);
  let at = 0;
  for (const { names, least, most } of shape.steps) {
    let count = 0;
    for (let child = children[at]; child; child = children[at]) {
      if (count === most || !names.includes(`{${child.namespace}}${child.local}`)) break;
      (found[child.local] ??= []).push(child);
      count += 1;
      at += 1;
    }
    if (count < least) throw new XmlIssue(`${element.local} lacks its ${localOf(names)}`);
  }
  const extra = children[at];
  if (extra) throw new XmlIssue(`${element.local} has a ${extra.local} where none may stand`);
  return found;
}

function localOf(names: readonly string[]): string {
  return names.map((name) => name.slice(name.lastIndexOf("}") + 1)).join(" or ");
}
