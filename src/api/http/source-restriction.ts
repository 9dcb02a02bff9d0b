/** Restricts the addresses from which an account's API keys may be used: its IP restriction of type `api`. */
import { Refusal } from "../../lib/errors.ts";
import { normaliseAddress } from "../../lib/address.ts";
import { compileAdmission } from "../../modules/ip-restriction.ts";
import type { Look } from "../../traffic/module.ts";
import type { Step } from "../../traffic/step.ts";
import { ipRestriction } from "../../resources/ip-restriction.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Reader, Store } from "../../storage/store.ts";

export interface SourceRestriction {
  /** Throws `Refusal` for a peer that the account does not allow. */
  check(accountId: string, peer: { readonly remoteAddress?: string | undefined }): void;
}

type Restriction = DocOf<typeof ipRestriction>;
type Admits = (source: string) => Step;

const kinds: ReadonlySet<string> = new Set(["ip_restriction", "ip_policy", "ip_policy_rule"]);

/** Rules are compiled at their first use after a change. */
export function openSourceRestriction(store: Store): SourceRestriction {
  const compiled = new Map<string, Admits | undefined>();
  store.subscribe(({ changes }) => {
    for (const { kind, before, after } of changes) {
      if (kinds.has(kind)) compiled.delete((after ?? before)?.account_id ?? "");
    }
  });
  return {
    check(accountId, peer) {
      let admits = compiled.get(accountId);
      if (!admits) {
        if (compiled.has(accountId)) return;
        const restriction = store.holder(accountId, ipRestriction.name, "api");
        admits = compileRestriction(store, accountId, restriction && docOf(restriction, ipRestriction));
        compiled.set(accountId, admits);
        if (!admits) return;
      }
      if (!isAdmitted(admits, peer.remoteAddress ?? "")) {
        throw new Refusal("api_source_denied", "the account's IP restriction does not allow your address");
      }
    },
  };
}

/** Rejects a restriction that would lock out the caller who creates it. */
export function checkNotShutOut(reader: Reader, accountId: string, restriction: Restriction, source: string): void {
  const admits = restriction.type === "api" ? compileRestriction(reader, accountId, restriction) : undefined;
  if (!admits || isAdmitted(admits, source)) return;
  const message = `must be policies that allow your own address, "${source}"`;
  throw new Refusal("restriction_shuts_out", `the restriction ${message}`, { ip_policy_ids: message });
}

function compileRestriction(
  reader: Reader,
  accountId: string,
  restriction: Restriction | undefined,
): Admits | undefined {
  if (!restriction?.enforced) return undefined;
  const look: Look = {
    accountId,
    get: (kind, id) => reader.get(accountId, kind, id),
    children: (kind, parentId) => reader.children(kind, parentId),
  };
  return compileAdmission(restriction.ip_policy_ids, { shared: (_key, make) => make(look) });
}

function isAdmitted(admits: Admits, source: string): boolean {
  return admits(normaliseAddress(source) ?? "").outcome === "passed";
}
