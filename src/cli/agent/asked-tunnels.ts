/** Tunnels that a running agent is asked for by its local API, in the words of agents' files. */
import type { TunnelOptions } from "../../agent/tunnel.ts";
import { readEntry } from "../agent-files/read.ts";
import type { FileIssue, SourceNode, SourcePlace } from "../agent-files/source.ts";
import { readNoFile } from "./bind-options.ts";
import { tunnelsOfEntry } from "./file-tunnels.ts";

const nowhere: SourcePlace = { path: "", line: 1, column: 1 };

/** The tunnels that `body` describes, or what is wrong with it; there is one for each of its schemes. */
export function askedTunnels(
  body: object,
  form: "tunnel" | "endpoint",
): { readonly tunnels: readonly TunnelOptions[]; readonly issues: readonly string[] } {
  const issues: FileIssue[] = [];
  const entry = readEntry(sourceOf(body), form, issues);
  const tunnels = (entry && tunnelsOfEntry(entry, issues, readNoFile)) ?? [];
  return { tunnels, issues: issues.map(({ message }) => message) };
}

/** JSON as a file would have it. */
function sourceOf(value: unknown): SourceNode {
  if (value === null || value === undefined) return { place: nowhere, value: undefined };
  if (Array.isArray(value)) return { place: nowhere, value: { kind: "list", items: value.map(sourceOf) } };
  if (typeof value === "object") {
    const entries = Object.entries(value).map(([key, one]) => ({ key, place: nowhere, node: sourceOf(one) }));
    return { place: nowhere, value: { kind: "map", entries, plain: value } };
  }
  return { place: nowhere, value: { kind: "text", text: String(value as string | number | boolean) } };
}
