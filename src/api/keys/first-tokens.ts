/** Creates the tokens that must exist before any client can create one. */
import { Buffer } from "node:buffer";
import { fingerprintToken, hashToken, maxTokenBytes, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { TokenPrefix } from "../../lib/tokens.ts";
import type { Log } from "../../lib/log.ts";
import type { Store } from "../../storage/store.ts";
import { tokenDoc } from "./token-docs.ts";
import { apiKey } from "../../resources/api-key.ts";
import { firstToken, firstTokenSpace } from "../../resources/first-token.ts";
import { credential } from "../../resources/credential.ts";
import type { tokenFields } from "../../resources/token-fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import { docOf } from "../../schema/doc.ts";

export interface FirstTokens {
  readonly apiKey: string;
  readonly authtoken: string;
}

type TokenResource = Pick<ResourceDeclaration<typeof tokenFields>, "name" | "fields">;

/** Minimum length of a token that an operator chose, so that it cannot be guessed at any rate limit. */
const minChosenBytes = 20;
const context = {
  principal: { accountId: "", id: "system" },
  operation: "firstStart",
  operationId: "op_start",
};

/**
 * Creates the default account's operator key and agent token on a first start. On later starts, creates tokens of
 * `bootstrap` that this database never had (an operator gave another). A deleted token stays deleted (P8). Rejects if a
 * chosen token is too short.
 */
export async function ensureFirstTokens(
  store: Store,
  bootstrap: { readonly apiKey?: string; readonly authtoken?: string },
  log: Log,
): Promise<FirstTokens | undefined> {
  checkChosen([bootstrap.apiKey, bootstrap.authtoken]);
  const account = store.accounts()[0] ?? (await store.createAccount("default"));
  const isFirst = isEmpty(store.objects(new Set([apiKey.name])));
  // A database of an earlier version does not record deleted tokens, so it gets no new ones.
  const isUntold = !isFirst && isEmpty(store.objects(new Set([firstToken.name])));
  const given: FirstTokens = {
    apiKey: bootstrap.apiKey ?? newToken(tokenPrefixes.apiKey),
    authtoken: bootstrap.authtoken ?? newToken(tokenPrefixes.agent),
  };
  const wanted: readonly FirstToken[] = [
    ...(isFirst || bootstrap.apiKey !== undefined ? [wantedKey(given.apiKey)] : []),
    ...(isFirst || bootstrap.authtoken !== undefined ? [wantedAuthtoken(given.authtoken)] : []),
  ];
  const missing = wanted.filter((one) => !isThere(store, account.id, one));
  const isToBeMade = (reader: Pick<Store, "holder">, { hash }: FirstToken): boolean =>
    !isUntold && reader.holder(account.id, firstTokenSpace, hash) === undefined;
  for (const one of missing.filter((each) => !isToBeMade(store, each))) {
    log.warn("this first token was deleted and is not created again: set another value to get a new one", {
      setting: one.setting,
    });
  }
  const untold = wanted.filter(({ hash }) => store.holder(account.id, firstTokenSpace, hash) === undefined);
  if (untold.length === 0) return undefined;
  const isNeeded = missing.some((one) => isToBeMade(store, one));
  const written = store.write({ ...context, principal: { accountId: account.id, id: "system" } }, (draft) => {
    for (const one of untold) {
      // Another node may have created the same tokens first.
      if (draft.holder(account.id, firstTokenSpace, one.hash)) continue;
      const isMade = isToBeMade(draft, one) && !isThere(draft, account.id, one);
      if (isMade) {
        const doc = tokenDoc(one.prefix, one.token, one.description, one.resource.name === apiKey.name);
        draft.create(account.id, one.resource.name, doc);
      }
      draft.create(account.id, firstToken.name, { token_hash: one.hash });
    }
  });
  if (isNeeded) await written;
  // If all tokens exist, a start needs no write (S3). The next start retries.
  else await written.catch((error: unknown) => log.warn("first tokens not recorded", { error }));
  return isFirst ? given : undefined;
}

interface FirstToken {
  readonly resource: TokenResource;
  readonly prefix: TokenPrefix;
  readonly token: string;
  readonly hash: string;
  readonly description: string;
  readonly setting: string;
}

function wantedKey(token: string): FirstToken {
  const setting = "--bootstrap-api-key";
  return {
    resource: apiKey,
    prefix: tokenPrefixes.apiKey,
    ...parseToken(token),
    description: "First API key",
    setting,
  };
}

function wantedAuthtoken(token: string): FirstToken {
  const setting = "--bootstrap-authtoken";
  return {
    resource: credential,
    prefix: tokenPrefixes.agent,
    ...parseToken(token),
    description: "First agent token",
    setting,
  };
}

function parseToken(token: string): Pick<FirstToken, "token" | "hash"> {
  return { token, hash: hashToken(token).toString("hex") };
}

function isThere(reader: Pick<Store, "holder">, accountId: string, { resource, token, hash }: FirstToken): boolean {
  const holder = reader.holder(accountId, "token", fingerprintToken(token));
  return holder?.kind === resource.name && docOf(holder, resource).token_hash === hash;
}

function isEmpty(objects: Iterable<unknown>): boolean {
  return objects[Symbol.iterator]().next().done === true;
}

function checkChosen(tokens: readonly (string | undefined)[]): void {
  for (const token of tokens) {
    const bytes = token === undefined ? minChosenBytes : Buffer.byteLength(token);
    if (bytes < minChosenBytes || bytes > maxTokenBytes || /[^\x21-\x7e]/.test(token ?? "")) {
      throw new Error(`a bootstrap token must be ${minChosenBytes} to ${maxTokenBytes} visible ASCII characters`);
    }
  }
}
