/** Accounts. Each starts with an API key and an agent token, which are shown once. */
import { newToken, tokenPrefixes } from "../../lib/tokens.ts";
import { account } from "../../resources/account.ts";
import { apiKey } from "../../resources/api-key.ts";
import { credential } from "../../resources/credential.ts";
import { tokenDoc } from "../keys/token-docs.ts";
import { behaviourOf } from "../objects/behaviour.ts";

export const accountBehaviour = behaviourOf(account, {
  created(draft, { id }) {
    const api_key = newToken(tokenPrefixes.apiKey);
    const authtoken = newToken(tokenPrefixes.agent);
    draft.create(id, apiKey.name, tokenDoc(tokenPrefixes.apiKey, api_key, "First API key", false));
    draft.create(id, credential.name, tokenDoc(tokenPrefixes.agent, authtoken, "First agent token", false));
    return { shown: { api_key, authtoken } };
  },
});
