/** The tokens that must exist before anybody can ask for one. */
import { Buffer } from "node:buffer";
import { fingerprint, hashToken, maxTokenBytes, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { TokenPrefix } from "../../lib/tokens.ts";
import type { Store } from "../../storage/store.ts";
import { tokenDoc } from "./token-docs.ts";
import { apiKey } from "../../resources/api-key.ts";
import { credential } from "../../resources/credential.ts";
import type { tokenFields } from "../../resources/token-fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import { docOf } from "../../schema/doc.ts";

export interface FirstTokens {
  readonly apiKey: string;
  readonly authtoken: string;
}

type TokenResource = Pick<ResourceDeclaration<typeof tokenFields>, "name" | "fields">;

/** A token that an operator chose must not be guessable within any rate limit. */
const minChosenBytes = 20;
const context = {
  principal: { accountId: "", id: "system" },
  operation: "firstStart",
  operationId: "op_start",
};

/**
 * Makes the default account's operator key and agent token on a first start, and later whichever of `bootstrap`
 * is not known (an operator gave another). Rejects for chosen tokens that are too short.
 */
export async function ensureFirstTokens(
  store: Store,
  bootstrap: { readonly apiKey?: string; readonly authtoken?: string },
): Promise<FirstTokens | undefined> {
  for (const token of [bootstrap.apiKey, bootstrap.authtoken]) {
    const bytes = token === undefined ? minChosenBytes : Buffer.byteLength(token);
    if (bytes < minChosenBytes || bytes > maxTokenBytes || /[^\x21-\x7e]/.test(token ?? "")) {
      throw new Error(`a bootstrap token must be ${minChosenBytes} to ${maxTokenBytes} visible ASCII characters`);
    }
  }
  const account = store.accounts()[0] ?? (await store.createAccount("default"));
  const isFirst = [...store.objects(new Set([apiKey.name]))].length === 0;
  const wanted: FirstTokens = {
    apiKey: bootstrap.apiKey ?? newToken(tokenPrefixes.apiKey),
    authtoken: bootstrap.authtoken ?? newToken(tokenPrefixes.agent),
  };
  const missing: { kind: string; prefix: TokenPrefix; token: string; description: string }[] = [];
  const want = (resource: TokenResource, prefix: TokenPrefix, token: string, description: string): void => {
    const kind = resource.name;
    const holder = store.holder(account.id, "token", fingerprint(token));
    if (holder?.kind === kind && docOf(holder, resource).token_hash === hashToken(token).toString("hex")) return;
    missing.push({ kind, prefix, token, description });
  };
  if (isFirst || bootstrap.apiKey !== undefined) {
    want(apiKey, tokenPrefixes.apiKey, wanted.apiKey, "First API key");
  }
  if (isFirst || bootstrap.authtoken !== undefined) {
    want(credential, tokenPrefixes.agent, wanted.authtoken, "First agent token");
  }
  if (missing.length === 0) return undefined;
  await store.write({ ...context, principal: { accountId: account.id, id: "system" } }, (draft) => {
    for (const { kind, prefix, token, description } of missing) {
      // Another node that starts with the same ones may have been first.
      if (draft.holder(account.id, "token", fingerprint(token))?.kind === kind) continue;
      draft.create(account.id, kind, tokenDoc(prefix, token, description, kind === apiKey.name));
    }
  });
  return isFirst ? wanted : undefined;
}
