/** Accounts: each starts with an API key and an agent token, which are shown once. */
import { newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { Draft } from "../../storage/store.ts";
import type { Behaviour } from "../objects/behaviour.ts";
import { tokenDoc } from "../keys/token-docs.ts";

export const accountBehaviour: Behaviour = {
  created(draft, account) {
    const api_key = newToken(tokenPrefixes.apiKey);
    const authtoken = newToken(tokenPrefixes.agent);
    createFirstTokens(draft, account.id, { apiKey: api_key, authtoken, operator: false });
    return { shown: { api_key, authtoken } };
  },
};

function createFirstTokens(
  draft: Draft,
  accountId: string,
  first: { readonly apiKey: string; readonly authtoken: string; readonly operator: boolean },
): void {
  const { apiKey, authtoken, operator } = first;
  draft.create(accountId, "api_key", tokenDoc(tokenPrefixes.apiKey, apiKey, "First API key", operator));
  draft.create(accountId, "credential", tokenDoc(tokenPrefixes.agent, authtoken, "First agent token", false));
}
