/** The code flow with a client that may change while the route stays, because its id or secret comes from a vault. */
import type { Connection } from "../calls/provider-connection.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginMethod } from "./method.ts";

export interface Client {
  readonly id: string;
  readonly secret: string;
}

export interface CurrentClient {
  /** How to find the client. Clients found in the same way share a realm. */
  readonly name: string;
  /** Returns undefined while the client cannot be found. */
  read(): Client | undefined;
}

/**
 * @param make creates the method for one client
 * @param used called with each connection at its first use
 */
export function makeChangingMethod(
  connection: Connection,
  client: CurrentClient,
  make: (connection: Connection) => LoginMethod,
  used: (connection: Connection) => void,
): LoginMethod {
  let known: { readonly client: Client; readonly method: LoginMethod } | undefined;
  const find = (): LoginMethod | undefined => {
    const now = client.read();
    if (!now) return undefined;
    if (known?.client.id === now.id && known.client.secret === now.secret) return known.method;
    const present = { ...connection, clientId: now.id, clientSecret: now.secret };
    used(present);
    known = { client: now, method: make(present) };
    return known.method;
  };
  const get = (): LoginMethod => {
    const found = find();
    if (!found) throw new LoginRefusal("login_client_refused", "the client's id or secret cannot be computed");
    return found;
  };
  const { kind, title, url, scopes, neededScopes = [], forwardsTokens, callbackPath, logout } = make(connection);
  return {
    kind,
    get clientId() {
      return find()?.clientId ?? "";
    },
    realmId: client.name,
    title,
    url,
    scopes,
    neededScopes,
    forwardsTokens,
    callbackPath,
    begin: (flow, state, prompt, host) => get().begin(flow, state, prompt, host),
    finish: async (parameters, flow) => await get().finish(parameters, flow),
    renew: async (tokens, subject) => await (get().renew as NonNullable<LoginMethod["renew"]>)(tokens, subject),
    ...(logout && {
      logout: async (tokens, returnUrl, host) =>
        await (get().logout as NonNullable<LoginMethod["logout"]>)(tokens, returnUrl, host),
    }),
  };
}
