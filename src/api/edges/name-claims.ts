/** Who serves a public name over all edges, and to whom it was granted and does not serve it yet. */
import type { Claim, ClaimAnswer } from "../../routing/planes/directory.ts";
import { siblingOf } from "../../lib/plain-names.ts";
import type { EdgeLine } from "./edges.ts";

/** A tunnel that serves a name. */
export interface NameHolder {
  readonly tunnelId: string;
  readonly accountId: string;
  readonly pool: string | undefined;
  readonly line: EdgeLine;
}

export interface NameClaims {
  /** Answers now, or when the claim that was granted before has become a tunnel or come to nothing. */
  claim(claim: Claim, line: EdgeLine, answer: (answer: ClaimAnswer) => void): void;
  /** The tunnel serves the name now. Returns those of other edges that make way for it. */
  open(name: string, holder: NameHolder): readonly NameHolder[];
  /** Answers those who waited for what was granted for the name. */
  settle(name: string | undefined): void;
  /** The tunnel does not serve it any more; harmless where another edge has it. */
  release(name: string, tunnelId: string, line: EdgeLine): void;
  /** What was granted to the tunnel is not wanted any more. */
  drop(tunnelId: string, line: EdgeLine): void;
  /** The edge has gone, with what it was granted. */
  leave(line: EdgeLine): void;
}

interface Waiting {
  readonly claim: Claim;
  readonly line: EdgeLine;
  readonly answer: (answer: ClaimAnswer) => void;
}

interface Grant {
  readonly name: string;
  readonly tunnelId: string;
  readonly accountId: string;
  readonly line: EdgeLine;
  waiting: readonly Waiting[];
}

export function makeNameClaims(): NameClaims {
  const holders = new Map<string, readonly NameHolder[]>();
  const grants = new Map<string, Grant>();
  /** By tunnel, the names that are granted to it, or that it waits for. */
  const asked = new Map<string, Set<string>>();

  const note = ({ tunnelId, name }: Claim): void => {
    const names = asked.get(tunnelId);
    if (names) names.add(name);
    else asked.set(tunnelId, new Set([name]));
  };
  const forget = (tunnelId: string, name: string): void => {
    const names = asked.get(tunnelId);
    names?.delete(name);
    if (names?.size === 0) asked.delete(tunnelId);
  };
  /** Those who are gone do not wait any more. */
  const dismiss = (grant: Grant, isGone: (one: Waiting) => boolean): void => {
    const gone = grant.waiting.filter(isGone);
    grant.waiting = grant.waiting.filter((one) => !gone.includes(one));
    for (const { claim: wanted } of gone) {
      const others = [grant, ...grant.waiting.map((one) => one.claim)];
      if (others.every(({ tunnelId }) => tunnelId !== wanted.tunnelId)) forget(wanted.tunnelId, grant.name);
    }
  };
  const isFree = ({ name, tunnelId, accountId, pool, replaces }: Claim): boolean => {
    const sibling = siblingOf(name);
    const isForeign = (one: { readonly accountId: string } | undefined): boolean =>
      one !== undefined && one.accountId !== accountId;
    if (holders.get(sibling)?.some(isForeign) === true || isForeign(grants.get(sibling))) return false;
    const others = (holders.get(name) ?? []).filter((one) => one.tunnelId !== tunnelId);
    if (others.every((one) => replaces.includes(one.tunnelId))) return true;
    return pool !== undefined && others.every((one) => one.accountId === accountId && one.pool === pool);
  };
  const claim = (waiting: Waiting): void => {
    const { claim: wanted, line, answer } = waiting;
    const granted = grants.get(wanted.name);
    note(wanted);
    if (granted && granted.tunnelId !== wanted.tunnelId) {
      granted.waiting = [...granted.waiting, waiting];
    } else if (isFree(wanted)) {
      const { name, tunnelId, accountId } = wanted;
      grants.set(name, { name, tunnelId, accountId, line, waiting: granted?.waiting ?? [] });
      answer("granted");
    } else {
      if (!granted) forget(wanted.tunnelId, wanted.name);
      answer("conflict");
    }
  };
  const settle = (grant: Grant | undefined): void => {
    if (!grant) return;
    grants.delete(grant.name);
    forget(grant.tunnelId, grant.name);
    for (const waiting of grant.waiting) claim(waiting);
  };
  const put = (name: string, rest: readonly NameHolder[]): void => {
    if (rest.length > 0) holders.set(name, rest);
    else holders.delete(name);
  };
  return {
    claim: (wanted, line, answer) => claim({ claim: wanted, line, answer }),
    open(name, holder) {
      const others = (holders.get(name) ?? []).filter(({ tunnelId }) => tunnelId !== holder.tunnelId);
      const { accountId, pool, line } = holder;
      const beside = others.filter((one) => pool !== undefined && one.pool === pool && one.accountId === accountId);
      put(name, [...beside, holder]);
      return others.filter((one) => !beside.includes(one) && one.line !== line);
    },
    settle(name) {
      if (name !== undefined) settle(grants.get(name));
    },
    release(name, tunnelId, line) {
      const all = holders.get(name) ?? [];
      put(
        name,
        all.filter((one) => one.tunnelId !== tunnelId || one.line !== line),
      );
    },
    drop(tunnelId, line) {
      for (const name of Array.from(asked.get(tunnelId) ?? [])) {
        const grant = grants.get(name);
        if (grant?.tunnelId === tunnelId && grant.line === line) settle(grant);
        else if (grant) dismiss(grant, (one) => one.claim.tunnelId === tunnelId && one.line === line);
      }
    },
    leave(line) {
      for (const grant of grants.values()) {
        dismiss(grant, (one) => one.line === line);
        if (grant.line === line) settle(grant);
      }
    },
  };
}
