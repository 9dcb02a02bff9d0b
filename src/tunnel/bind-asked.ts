/** A parsed bind request. It is parsed and its proof checked once, however often the bind is repeated. */
import { openOptions } from "./bind-options.ts";
import type { JsonObject } from "./json-message.ts";
import { parseBind } from "./tunnel-messages.ts";
import type { Proofs } from "./proofs.ts";
import type { BindRequest } from "./server-hooks.ts";

export interface BindAsked {
  /** Contains the decrypted secrets of its options. */
  readonly request: BindRequest;
  /** The requested id and its proof, if valid. */
  readonly proven: { readonly id: string; readonly token: string } | undefined;
}

/** Ids that a reconnecting agent may send: short and safe in a file name, because agents use them in socket paths. */
const adoptable = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws `Refusal`. */
export function readBind(message: JsonObject, proofs: Proofs, accountId: string): BindAsked {
  const { token, ...request } = parseBind(message);
  const { id, options } = request;
  const isProven = adoptable.test(id) && proofs.provesTunnel(token, accountId, id);
  return {
    request: { ...request, options: openOptions(options, proofs, accountId) },
    proven: isProven ? { id, token } : undefined,
  };
}
