/** Ensures that every setting of a source has a line in the report. */
import { findNearest } from "../../lib/nearest.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import type { LineKind, SettingPlace, ReportLine } from "../report/report.ts";

/** Result of one documented key of a source. Guides print these rows. */
export interface KeyRow {
  /** `[]` matches each item of a list, `*` a name that the user chooses. */
  readonly key: string;
  readonly kind: LineKind;
  readonly text: string;
  readonly guardsAccess?: true;
}

interface Branch {
  row?: KeyRow;
  readonly next: Map<string, Branch>;
}

type Word = Omit<ReportLine, "place" | "key">;

/** Result for everything below a node. A reader's result takes precedence over rows. */
interface Inherited {
  readonly said?: Word | undefined;
  readonly row?: Word | undefined;
}

export class Ledger {
  readonly #root: Branch = { next: new Map() };
  readonly #said = new Map<SourceNode, Word>();

  constructor(rows: readonly KeyRow[]) {
    for (const row of rows) {
      let branch = this.#root;
      for (const step of row.key.replaceAll("[]", ".[]").split(".")) {
        const next: Branch = branch.next.get(step) ?? { next: new Map() };
        branch.next.set(step, next);
        branch = next;
      }
      branch.row = row;
    }
  }

  /** Sets the result of a node and everything below it, instead of their rows. The last call wins. */
  say(node: SourceNode | undefined, kind: LineKind, text: string, guardsAccess = false): void {
    if (node) this.#said.set(node, { kind, text, guardsAccess });
  }

  /** Returns one line for each setting. Settings without a result are unknown and omitted. */
  finish(root: SourceNode): ReportLine[] {
    const report: ReportLine[] = [];
    this.#walk(root, root.place, "", this.#root, {}, report);
    return report;
  }

  #walk(
    node: SourceNode,
    place: SettingPlace,
    key: string,
    branch: Branch | undefined,
    above: Inherited,
    report: ReportLine[],
  ): void {
    const { value } = node;
    const said = this.#said.get(node) ?? above.said;
    const row = wordOf(branch?.row) ?? above.row;
    if (value.kind === "map" && value.entries.length > 0) {
      for (const entry of value.entries) {
        const next = branch?.next.get(entry.key) ?? branch?.next.get("*");
        this.#walk(
          entry.node,
          entry.place,
          key === "" ? entry.key : `${key}.${entry.key}`,
          next,
          { said, row },
          report,
        );
      }
    } else if (
      value.kind === "list" &&
      value.items.some((item) => item.value.kind !== "text" || this.#said.has(item))
    ) {
      const next = branch?.next.get("[]");
      for (const [index, item] of value.items.entries()) {
        this.#walk(item, item.place, `${key}[${index}]`, next, { said, row }, report);
      }
    } else {
      const isEmpty = value.kind !== "text" && (value.kind === "list" ? value.items : value.entries).length === 0;
      const word = said ?? row ?? (isEmpty ? nothing : this.#unknown(key));
      report.push({ place, key, ...word });
    }
  }

  /** An undocumented key may protect something, so it counts as a guard. */
  #unknown(key: string): Word {
    const last = key.slice(key.lastIndexOf(".") + 1);
    const near = findNearest(last, [...allKeys(this.#root)]);
    const hint = near === undefined || near === last ? "" : ` Did you mean "${near}"?`;
    const text = `this key is unknown to the import.${hint} Check what it does, and set it up by hand`;
    return { kind: "left out", text, guardsAccess: true };
  }
}

const nothing: Word = { kind: "mapped", text: "empty: there is nothing to convert", guardsAccess: false };

function wordOf(row: KeyRow | undefined): Word | undefined {
  return row && { kind: row.kind, text: row.text, guardsAccess: row.guardsAccess ?? false };
}

function* allKeys(branch: Branch): Iterable<string> {
  for (const [key, next] of branch.next) {
    if (key !== "[]" && key !== "*") yield key;
    yield* allKeys(next);
  }
}
