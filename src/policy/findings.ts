/** Collects the results of reading a policy: its issues, its warnings, and the secrets that it reads. */
import type { CheckedTree } from "../cel/checking/checked.ts";
import { issueAt, issueText } from "../cel/syntax/issue.ts";
import type { Issue } from "../cel/syntax/issue.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { NamedSecret } from "../schema/fields.ts";
import type { ReadYaml } from "../lib/yaml.ts";
import type { Doubt } from "./lint/policy-doubt.ts";
import { capitalHeaderNames } from "./lint/header-names.ts";
import { findOlderNames } from "./lint/older-names.ts";
import { secretUses } from "./lint/secret-uses.ts";
import { readsWithoutData } from "./lint/without-data.ts";
import { readsPath } from "./lint/path-uses.ts";
import { isOfAddress } from "./variables/address-variables.ts";
import { maxPolicyIssues } from "./policy-issue.ts";
import type { PlaceInText, PolicyIssue, PolicyWarning } from "./policy-issue.ts";

export type Keys = readonly (string | number)[];

export interface OlderName {
  readonly path: string;
  /** The text at `path`, and the position of the name in it, UTF-16 offsets. */
  readonly source: string;
  readonly from: number;
  readonly to: number;
  /** The present name. */
  readonly name: string;
}

export class Findings {
  /** In the order of the text. Maximum: twenty, as for warnings. */
  readonly issues: PolicyIssue[] = [];
  readonly warnings: PolicyWarning[] = [];
  readonly secrets: NamedSecret[] = [];
  /** Variables mentioned by an older name. */
  readonly olderNames: OlderName[] = [];
  /** Whether an expression or action reads the path of the URL. */
  readsPath = false;
  /** Whether an expression reads locations or categories of addresses. */
  readsAddresses = false;
  /** The parsed text; undefined before parsing. */
  yaml: ReadYaml | undefined;

  wrong(path: string, message: string, reason: RefusalName): void {
    if (this.issues.length < maxPolicyIssues) this.issues.push({ path, message, reason });
  }

  /** Reports text that does not have the form of a policy, with its line. */
  malformed(path: string, keys: Keys, message: string): void {
    const line = this.issues.length < maxPolicyIssues ? this.yaml?.lineOf(keys) : undefined;
    this.wrong(path, line === undefined ? message : `line ${line}: ${message}`, "policy_unreadable");
  }

  /** Returns the characters of the unquoted scalar at `keys`, exactly as the author wrote them. */
  written(keys: Keys): string | undefined {
    return this.yaml?.written(keys);
  }

  /** @param source the text at `path` */
  wrongIn(path: string, source: string, issue: Issue, reason: RefusalName): void {
    if (this.issues.length >= maxPolicyIssues) return;
    this.issues.push({ path, message: issueText(issue), reason, at: placeOf(source, issue) });
  }

  doubtful(path: string, message: string): void {
    if (this.warnings.length < maxPolicyIssues) this.warnings.push({ path, message });
  }

  /** @param before UTF-16 code units of `source` before the expression */
  doubtfulIn(path: string, source: string, before: number, { offset, message, hint, datum }: Doubt): void {
    if (this.warnings.length >= maxPolicyIssues) return;
    const issue = issueAt(source, before + offset, message, hint);
    this.warnings.push({ path, message: issueText(issue), at: placeOf(source, issue), datum });
  }

  /** Records the warnings of an expression that do not depend on its location. */
  read(path: string, source: string, checked: CheckedTree, before = 0): void {
    this.secrets.push(...secretUses(checked));
    this.readsPath ||= readsPath(checked);
    this.readsAddresses ||= [...checked.variables.values()].some(({ name }) => isOfAddress(name));
    for (const { from, to, name } of findOlderNames(checked)) {
      this.olderNames.push({ path, source, from: before + from, to: before + to, name });
    }
    for (const doubt of [...readsWithoutData(checked), ...capitalHeaderNames(checked)]) {
      this.doubtfulIn(path, source, before, doubt);
    }
  }
}

function placeOf(source: string, { line, column }: Issue): PlaceInText {
  return { source, line, column };
}

export function pathOf(keys: Keys): string {
  return keys.map((key, at) => (typeof key === "number" ? `[${key}]` : at === 0 ? key : `.${key}`)).join("");
}
