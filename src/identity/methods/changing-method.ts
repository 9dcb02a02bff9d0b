/** The code flow with a client that may change while the route stays: its id or secret is read from a vault. */
import type { Connection } from "../calls/connection.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginMethod } from "./method.ts";

export interface Client {
  readonly id: string;
  readonly secret: string;
}

export interface CurrentClient {
  /** How the client is found: what is found the same way is the same realm. */
  readonly name: string;
  /** Undefined where it cannot be found out now. */
  read(): Client | undefined;
}

/**
 * @param make the method of one client
 * @param used told of each connection when it is first used
 */
export function changingMethod(
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
