import { catalogue, errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";

/** Why a message of an identity provider, or its metadata, is not taken. Plain data: it crosses threads. */
export interface SamlRefusal {
  readonly error: RefusalName;
  /** `ERR_POSTERN_53…`: all that the visitor is told. */
  readonly code: string;
  readonly status: number;
  /** One clause for the operator's trace: what was wrong, never the message itself. */
  readonly reason: string;
  /** The provider may have a key that was not known when the message was judged. */
  readonly keyUnknown?: boolean;
}

export function refused(error: RefusalName, reason: string): SamlRefusal {
  return { error, code: errorCode(error), status: catalogue[error].status, reason };
}
