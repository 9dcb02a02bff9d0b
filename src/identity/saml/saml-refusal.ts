import { catalogue, errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";

/** Why an identity provider's message or metadata was refused. Plain data, because it crosses threads. */
export interface SamlRefusal {
  readonly error: RefusalName;
  /** `ERR_POSTERN_53…`, the only part that the visitor sees. */
  readonly code: string;
  readonly status: number;
  /** One clause for the operator's trace: the fault, never the message itself. */
  readonly reason: string;
  /** The provider may have a key that was unknown when the message was checked. */
  readonly keyUnknown?: boolean;
}

export function makeSamlRefusal(error: RefusalName, reason: string): SamlRefusal {
  return { error, code: errorCode(error), status: catalogue[error].status, reason };
}
