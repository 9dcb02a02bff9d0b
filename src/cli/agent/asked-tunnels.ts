/** Reads the tunnels that the local API requests of a running agent. Requests use the keys of agent files. */
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { readEntry } from "../agent-files/read-agent-files.ts";
import type { FileIssue, SourceNode, SourcePlace } from "../agent-files/source.ts";
import { readNoFile } from "../agent-files/tunnel-values.ts";
import { tunnelsOfEntry } from "./file-tunnels.ts";

const nowhere: SourcePlace = { path: "", line: 1, column: 1 };

/** Returns the tunnels that `body` describes, one per scheme, or its errors. */
export function readAskedTunnels(
  body: object,
  form: "tunnel" | "endpoint",
): { readonly tunnels: readonly TunnelOptions[]; readonly issues: readonly string[] } {
  const issues: FileIssue[] = [];
  const entry = readEntry(sourceOf(body), form, issues);
  const tunnels = (entry && tunnelsOfEntry(entry, issues, readNoFile)) ?? [];
  return { tunnels, issues: issues.map(({ message }) => message) };
}

/** Converts JSON to the form of a parsed file. */
function sourceOf(value: unknown): SourceNode {
  if (value === null || value === undefined) return { place: nowhere, value: undefined };
  if (Array.isArray(value)) return { place: nowhere, value: { kind: "list", items: value.map(sourceOf) } };
  if (typeof value === "object") {
    const entries = Object.entries(value).map(([key, one]) => ({ key, place: nowhere, node: sourceOf(one) }));
    return { place: nowhere, value: { kind: "map", entries, plain: value } };
  }
  return { place: nowhere, value: { kind: "text", text: String(value as string | number | boolean) } };
}
