/** Converts matchers of Caddy to expressions of a traffic policy, and evaluates them for paths known at import. */
import { isIP } from "node:net";
import { entriesAt, textAt, textsAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";

/** A request that is known at import. */
export interface Sample {
  readonly host: string;
  readonly path: string;
}

export interface Condition {
  /** The condition as a CEL expression; `true` for no condition. */
  readonly cel: string;
  /** Whether a request matches; undefined if the answer depends on more than host and path. */
  matches(sample: Sample): boolean | undefined;
  /** Hosts of matchers below the site's own. */
  readonly hosts: readonly string[];
  /** Path patterns in Caddy's syntax. */
  readonly paths: readonly string[];
}

export const always: Condition = { cel: "true", matches: () => true, hosts: [], paths: [] };

/** A matcher without an equivalent. */
export class Unsupported extends Error {
  readonly node: SourceNode;

  constructor(node: SourceNode, message: string) {
    super(message);
    this.node = node;
  }
}

/**
 * Whether the hosts of routes are already matched. They are for a server's routes, but not for routes inside a site.
 */
export type HostMatching = "chosen" | "open";

/**
 * Matches if any set matches; a set matches if all its matchers do.
 * @throws Unsupported
 */
export function conditionOf(sets: readonly SourceNode[], host: HostMatching): Condition {
  if (sets.length === 0) return always;
  return anyOf(sets.map((set) => allOf(entriesAt(set, "").map(({ key, node }) => matcherOf(key, node, host)))));
}

export function allOf(conditions: readonly Condition[]): Condition {
  const parts = conditions.filter((one) => one !== always);
  if (parts.length < 2) return parts[0] ?? always;
  return {
    cel: parts.map(({ cel }) => `(${cel})`).join(" && "),
    matches(sample) {
      const found = parts.map((one) => one.matches(sample));
      return found.includes(false) ? false : found.includes(undefined) ? undefined : true;
    },
    hosts: parts.flatMap(({ hosts }) => hosts),
    paths: parts.flatMap(({ paths }) => paths),
  };
}

export function negate(inner: Condition): Condition {
  return {
    cel: `!(${inner.cel})`,
    matches(sample) {
      const found = inner.matches(sample);
      return found === undefined ? undefined : !found;
    },
    hosts: inner.hosts,
    paths: inner.paths,
  };
}

export function anyOf(conditions: readonly Condition[]): Condition {
  if (conditions.length < 2) return conditions[0] ?? always;
  return {
    cel: conditions.map(({ cel }) => `(${cel})`).join(" || "),
    matches(sample) {
      const found = conditions.map((one) => one.matches(sample));
      return found.includes(true) ? true : found.includes(undefined) ? undefined : false;
    },
    hosts: conditions.flatMap(({ hosts }) => hosts),
    paths: conditions.flatMap(({ paths }) => paths),
  };
}

function matcherOf(kind: string, node: SourceNode, host: HostMatching): Condition {
  switch (kind) {
    case "path":
      return anyOf(listOf(node).map(pathCondition));
    case "path_regexp": {
      const pattern = textAt(node, "pattern") ?? "";
      return unknownCondition(`req.url.path.matches(${quoteForCel(pattern)})`);
    }
    case "method":
      return unknownCondition(`req.method in [${listOf(node).map(quoteForCel).join(", ")}]`);
    case "host": {
      if (host === "chosen") return always;
      const hosts = listOf(node).map((one) => one.toLowerCase());
      if (hosts.some((one) => !/^[a-z0-9.-]+$/.test(one)))
        throw new Unsupported(node, "a host with a wildcard or placeholder inside of a site has no equivalent");
      return {
        cel: `req.url.host in [${hosts.map(quoteForCel).join(", ")}]`,
        matches: (sample) => hosts.includes(sample.host),
        hosts,
        paths: [],
      };
    }
    case "protocol": {
      const protocol = node.value.kind === "text" ? node.value.text : "";
      if (protocol === "https") return always;
      if (protocol === "http") return { cel: "false", matches: () => false, hosts: [], paths: [] };
      throw new Unsupported(node, `Postern does not match the protocol "${protocol}"`);
    }
    case "header":
      return allOf(entriesAt(node, "").map(({ key, node: values }) => valuesCondition("getReqHeader", key, values)));
    case "query":
      return allOf(entriesAt(node, "").map(({ key, node: values }) => valuesCondition("getQueryParam", key, values)));
    case "remote_ip": {
      if (textAt(node, "forwarded") === "true")
        throw new Unsupported(node, "set --trusted-forwarders, and remove forwarded");
      const ranges = textsAt(node, "ranges").map((range) =>
        range.includes("/") ? range : `${range}/${isIP(range) === 6 ? 128 : 32}`,
      );
      return unknownCondition(`inCidrRanges(conn.client_ip, [${ranges.map(quoteForCel).join(", ")}])`);
    }
    case "not":
      return negate(conditionOf(node.value.kind === "list" ? node.value.items : [], host));
    default:
      throw new Unsupported(node, `the matcher "${kind}" has no equivalent`);
  }
}

function unknownCondition(cel: string): Condition {
  return { cel, matches: () => undefined, hosts: [], paths: [] };
}

/** Caddy compares paths without regard to case. A star may be at the start, at the end, or between slashes. */
function pathCondition(pattern: string): Condition {
  const lower = pattern.toLowerCase();
  const path = "req.url.path.lowerAscii()";
  const inner = lower.replace(/^\*/, "").replace(/\*$/, "");
  const isOpen = [lower.startsWith("*"), lower.length > 1 && lower.endsWith("*")];
  const matching = (cel: string, check: (given: string) => boolean): Condition => ({
    cel,
    matches: ({ path: given }) => check(given.toLowerCase()),
    hosts: [],
    paths: [pattern],
  });
  if (inner === "" || lower === "/*") return always;
  if (/[*?[\\]/.test(inner)) {
    const source = `^${lower
      .replaceAll(/[.+^${}()|\\[\]]/g, "\\$&")
      .replaceAll("*", "[^/]*")
      .replaceAll("?", "[^/]")}$`;
    const expression = new RegExp(source);
    return matching(`${path}.matches(${quoteForCel(source)})`, (given) => expression.test(given));
  }
  if (isOpen[0] && isOpen[1])
    return matching(`${path}.contains(${quoteForCel(inner)})`, (given) => given.includes(inner));
  if (isOpen[0]) return matching(`${path}.endsWith(${quoteForCel(inner)})`, (given) => given.endsWith(inner));
  if (isOpen[1]) return matching(`${path}.startsWith(${quoteForCel(inner)})`, (given) => given.startsWith(inner));
  return matching(`${path} == ${quoteForCel(inner)}`, (given) => given === inner);
}

function valuesCondition(read: string, name: string, values: SourceNode): Condition {
  const texts = listOf(values);
  if (texts.length === 0) return unknownCondition(`${read}(${quoteForCel(name)}).size() == 0`);
  const parts = texts.map((text) => {
    if (text.includes("{")) throw new Unsupported(values, "placeholders in matchers have no equivalent");
    const inner = text.replace(/^\*/, "").replace(/\*$/, "");
    if (text === "*") return `${read}(${quoteForCel(name)}).size() > 0`;
    const check =
      text.startsWith("*") && text.endsWith("*")
        ? `v.contains(${quoteForCel(inner)})`
        : text.startsWith("*")
          ? `v.endsWith(${quoteForCel(inner)})`
          : text.endsWith("*")
            ? `v.startsWith(${quoteForCel(inner)})`
            : `v == ${quoteForCel(text)}`;
    return `${read}(${quoteForCel(name)}).exists(v, ${check})`;
  });
  return unknownCondition(parts.join(" || "));
}

function listOf(node: SourceNode): string[] {
  if (node.value.kind === "text") return node.value.text === "" ? [] : [node.value.text];
  if (node.value.kind !== "list") return [];
  return node.value.items.flatMap(({ value }) => (value.kind === "text" ? [value.text] : []));
}

/** Returns a CEL string literal. */
export function quoteForCel(text: string): string {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
