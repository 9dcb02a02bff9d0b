/** Looks up the records that prove reserved domains, and puts proven names into effect. */
import { Refusal } from "../../lib/errors.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import type { ResolveTxt } from "./resolve-txt.ts";
import { needsProof, recordFor, recordNames } from "./proof-rules.ts";
import type { ProofRules } from "./proof-rules.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";

export interface DomainChecks {
  /** Returns `ownership` of a reserved domain. */
  status(domain: StoredObject): Doc | null;
  stop(): Promise<void>;
}

export interface DomainChecksOptions {
  readonly store: Store;
  readonly rules: ProofRules;
  readonly resolveTxt: ResolveTxt;
  readonly clock: Clock;
  readonly log: Log;
}

const kind = reservedDomain.name;
const lookEveryMs = 60_000;
/** Names that were reserved longer ago are looked up less often. */
const freshMs = 3_600_000;
const laterEveryMs = 900_000;
/** Lookups stop after this time without proof. */
export const lapseMs = 7 * 86_400_000;
/** Maximum number of lookups per round, so that many names of one owner do not overload its name servers. */
const maxPerRound = 64;

interface PendingCheck {
  readonly accountId: string;
  checkedAt: number | undefined;
  /** Monotonic time. */
  nextAt: number;
  /** Result of the last lookup. */
  message: string;
}

export function openDomainChecks({ store, rules, resolveTxt, clock, log }: DomainChecksOptions): DomainChecks {
  const pending = new Map<string, PendingCheck>();
  let isStopping = false;
  let round: Promise<void> | undefined;
  let isWanted = false;

  const note = (id: string, domain: StoredObject | undefined): void => {
    if (!domain || !docOf(domain, reservedDomain).unproven) pending.delete(id);
    else if (!pending.has(id)) {
      const entry = {
        accountId: domain.account_id,
        checkedAt: undefined,
        nextAt: -Infinity,
        message: "The record was not checked yet.",
      };
      pending.set(id, entry);
    }
  };
  const give = async (domain: StoredObject): Promise<void> => {
    await store.write(systemWrite(domain.account_id, "proveReservedDomain", clock), (draft) => {
      const now = draft.get(domain.account_id, kind, domain.id);
      if (now && docOf(now, reservedDomain).unproven) draft.replace(now, { ...now.doc, unproven: false });
    });
    log.info("domain proven", { domain: docOf(domain, reservedDomain).domain, account: domain.account_id });
  };
  const check = async (domain: StoredObject, entry: PendingCheck): Promise<void> => {
    const { domain: name } = docOf(domain, reservedDomain);
    try {
      const isProven =
        !needsProof(store, domain.account_id, name, rules) ||
        (rules.domainProof === "dns" && (await hasRecord(domain.account_id, name)));
      if (isProven) await give(domain);
      else entry.message = "The record does not exist.";
    } catch (error) {
      if (!(error instanceof Refusal)) log.warn("domain not checked", { domain: name, error });
      entry.message = error instanceof Refusal ? error.message : "The record could not be resolved.";
    }
    const now = clock.now();
    entry.checkedAt = now;
    entry.nextAt = clock.monotonic() + (now - Date.parse(domain.created_at) < freshMs ? lookEveryMs / 2 : laterEveryMs);
  };
  const hasRecord = async (accountId: string, name: string): Promise<boolean> => {
    const { value } = recordFor(accountId, name);
    const found = await Promise.allSettled(recordNames(name, rules.suffixes).map(resolveTxt));
    return found.some((one) => one.status === "fulfilled" && one.value.includes(value));
  };
  const look = async (): Promise<void> => {
    const now = clock.now();
    const due = [...pending]
      .filter(([, { nextAt }]) => nextAt <= clock.monotonic())
      .sort(([, one], [, other]) => one.nextAt - other.nextAt)
      .flatMap(([id, entry]) => {
        const domain = store.get(entry.accountId, kind, id);
        return domain && now < lapsesAt(domain) ? [{ domain, entry }] : [];
      });
    await Promise.all(due.slice(0, maxPerRound).map(({ domain, entry }) => check(domain, entry)));
  };
  const lookSoon = (): void => {
    isWanted = true;
    if (round || isStopping) return;
    isWanted = false;
    round = look().finally(() => {
      round = undefined;
      if (isWanted) lookSoon();
    });
  };

  for (const domain of store.objects(new Set([kind]))) note(domain.id, domain);
  store.subscribe(({ changes }) => {
    for (const change of changes) if (change.kind === kind) note(change.id, change.after);
    if (pending.size > 0 && changes.some((one) => one.kind === kind || one.kind === "account")) lookSoon();
  });
  const timer = clock.every(lookEveryMs, lookSoon);
  lookSoon();
  return {
    status(domain) {
      const { domain: name, unproven: isPending } = docOf(domain, reservedDomain);
      if (!isPending && !isProofRequired(name, rules)) return null;
      const entry = pending.get(domain.id);
      const record = rules.domainProof === "dns" ? recordFor(domain.account_id, name) : undefined;
      const hasLapsed = isPending && clock.now() >= lapsesAt(domain);
      return {
        status: hasLapsed ? "lapsed" : isPending ? "pending" : "proven",
        record_type: record ? "TXT" : null,
        record_name: record?.name ?? null,
        record_value: record?.value ?? null,
        msg: isPending ? (entry?.message ?? "") : "",
        checked_at: entry?.checkedAt === undefined ? null : formatTimestamp(entry.checkedAt),
        lapses_at: isPending ? formatTimestamp(lapsesAt(domain)) : null,
      };
    },
    async stop() {
      isStopping = true;
      timer.cancel();
      await round;
    },
  };
}

function lapsesAt(domain: StoredObject): number {
  return Date.parse(domain.created_at) + lapseMs;
}

/** Whether the name needs proof at all. */
function isProofRequired(name: string, { domain, domainProof }: ProofRules): boolean {
  return domainProof !== "none" && name !== domain && !name.endsWith(`.${domain}`);
}
