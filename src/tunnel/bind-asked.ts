/** What a bind asks for: read once, and its proof checked once, however often it is answered anew. */
import { openOptions } from "./bind-options.ts";
import type { JsonObject } from "./json-message.ts";
import { parseBind } from "./messages.ts";
import type { Proofs } from "./proofs.ts";
import type { BindRequest } from "./server-hooks.ts";

export interface BindAsked {
  /** With the secrets of its options in the clear. */
  readonly request: BindRequest;
  /** The id that it brings, where that is proven, with the proof. */
  readonly proven: { readonly id: string; readonly token: string } | undefined;
}

/** Ids that a returning agent may bring: short and safe in a file name, since agents make socket paths of them. */
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
