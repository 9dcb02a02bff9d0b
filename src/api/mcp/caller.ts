/** Who sends a request, and what it may do. */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { listTools } from "../../mcp/service.ts";
import type { RpcRequest } from "../../mcp/service.ts";
import type { ApplicationTokens } from "../console/application-tokens.ts";
import type { Key, KeyRing } from "../http/authenticate.ts";
import { readerOf } from "./mcp-calls.ts";

/** Authenticates an API key or the access token of an application. Rejects with `Refusal`. */
export type Authenticate = (request: IncomingMessage) => Promise<Caller>;

export interface Caller {
  /** With the rights of the key or, at most, those of the application. */
  readonly key: Key;
  /** Account and id of the key or person, which are unique together. */
  readonly id: string;
  /** Whether the key or the person may change the configuration. */
  readonly mayChange: boolean;
  /** Whether the person has allowed the application only to read. */
  readonly lacksScope: boolean;
  /** The name of the application, which the person has seen. */
  readonly application?: string;
}

/** @param applications undefined if the console is off */
export function makeAuthenticate(
  keys: KeyRing,
  applications: Pick<ApplicationTokens, "find"> | undefined,
): Authenticate {
  return async ({ headers, socket }) => {
    const token = /^bearer +(postern_oa_[\w-]{1,64})$/i.exec(headers.authorization ?? "")?.[1];
    if (token === undefined || !applications) return callerOf(keys.authenticate(headers.authorization, socket));
    const { key, client, scopes } = await applications.find(token);
    const found = { ...callerOf(key), application: client };
    return scopes.includes("write")
      ? found
      : { ...found, lacksScope: true, key: { ...key, principal: readerOf(key.principal) } };
  };
}

function callerOf(key: Key): Caller {
  const { accountId, id, scope } = key.principal;
  return { key, id: `${accountId} ${id}`, mayChange: scope?.write !== false, lacksScope: false };
}

/** The client gets the error that makes it ask the person for the scope (RFC 6750 §3.1). */
export function checkScope(
  { lacksScope, mayChange }: Pick<Caller, "lacksScope" | "mayChange">,
  { method, params }: RpcRequest,
): void {
  if (!lacksScope || !mayChange || method !== "tools/call") return;
  const tool = listTools(mayChange).find(({ name }) => name === params["name"]);
  if (tool?.needsWrite ?? tool?.changes) throw new Refusal("access_token_scope");
}
