/** Restricts agent tokens that limited keys create: an agent may serve only what the key may configure. */
import type { Reader, StoredObject } from "../../storage/store.ts";
import type { Operation } from "../operation/call.ts";
import { refuseMissingScope } from "../operation/missing-scope.ts";
import { isVisible } from "../operation/scope.ts";
import type { KeyScope } from "../operation/scope.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { agentInvitation } from "../../resources/agent-invitation.ts";
import { credential } from "../../resources/credential.ts";
import { sshCertificateAuthority } from "../../resources/ssh-certificate-authority.ts";
import { sshCredential } from "../../resources/ssh-credential.ts";
import { tunnelGroupBackend } from "../../resources/tunnel-group-backend.ts";

/** Kinds with an `acl` of agents' bindings: tokens, invitations, which create tokens, and keys of SSH clients. */
const bindingKinds = [credential, agentInvitation, sshCredential, sshCertificateAuthority];

export function grantsAgentAccess(kind: string): boolean {
  return bindingKinds.some(({ name }) => name === kind);
}

export function aclOf(token: StoredObject): readonly string[] {
  if (token.kind === agentInvitation.name) return docOf(token, agentInvitation).acl;
  if (token.kind === credential.name) return docOf(token, credential).acl;
  if (token.kind === sshCredential.name) return docOf(token, sshCredential).acl;
  return docOf(token, sshCertificateAuthority).acl;
}

/** @throws Refusal unless each rule is limited to reserved names and matched labels within the scope */
export function checkTokenWithin(
  token: StoredObject,
  { operation, scope, draft }: { readonly operation: Operation; readonly scope: KeyScope; readonly draft: Reader },
): void {
  const refuse = (why: string): never => {
    throw refuseMissingScope(operation, "*", `the "acl" of its agent tokens must be at least as limited: ${why}`);
  };
  const accountId = token.account_id;
  const outside = (kind: string): readonly StoredObject[] =>
    draft.page(accountId, kind, { limit: Infinity }).objects.filter((one) => !isVisible(scope, one));
  const rules = aclOf(token).map((rule) => rule.replace(/^bind:/, "").toLowerCase());
  if (rules.length === 0) refuse("an empty one allows everything");
  const labels = rules.filter((rule) => rule.includes("="));
  for (const rule of rules) {
    if (rule.includes("=")) continue;
    const host = rule.replace(/:[^:]*$/, "");
    const holder = draft.holder(accountId, "domain", host);
    if (holder?.account_id !== accountId || !isVisible(scope, holder)) {
      refuse(`"${rule}" is not a domain that is reserved with the key's metadata`);
    }
    const other = outside(reservedDomain.name).find((one) => matchesPattern(host, docOf(one, reservedDomain).domain));
    if (other) refuse(`"${rule}" covers ${other.kind} "${other.id}"`);
  }
  if (labels.length === 0) return;
  // A tunnel serves a backend if it has all its labels.
  const served = outside(tunnelGroupBackend.name).find((backend) =>
    Object.entries(docOf(backend, tunnelGroupBackend).labels).every(([name, value]) =>
      labels.some((rule) => matchesPattern(rule, `${name}=${value}`.toLowerCase())),
    ),
  );
  if (served) refuse(`its labels serve ${served.kind} "${served.id}"`);
}

/** Whether `text` matches `pattern`, in which `*` stands for any text. Backtracks to the last `*` only. */
function matchesPattern(pattern: string, text: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let index = 0; index < text.length;) {
    if (pattern[at] === "*") [star, from, at] = [at, index, at + 1];
    else if (at < pattern.length && pattern[at] === text[index]) [at, index] = [at + 1, index + 1];
    else if (star >= 0) [at, from, index] = [star + 1, from + 1, from + 1];
    else return false;
  }
  return /^\**$/.test(pattern.slice(at));
}
