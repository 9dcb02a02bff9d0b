/** Refusals of the local API, from the error catalogue and in the format of other agents' local APIs. */
import { catalogue, errorCode } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";

export type LocalRefusalName = Extract<RefusalName, `local_${string}`>;

/** Numbers that existing scripts expect. They retry 103 and 104. */
const numbers: Partial<Record<LocalRefusalName, { readonly code: number; readonly msg?: string }>> = {
  local_tunnel_invalid: { code: 102, msg: "invalid tunnel configuration" },
  local_tunnel_refused: { code: 103, msg: "failed to start tunnel" },
  local_replay_unreachable: { code: 103 },
  local_busy: { code: 103 },
  local_failed: { code: 103 },
  local_not_ready: { code: 104, msg: "not yet ready to start tunnels" },
};
const usual = { code: 100, msg: undefined };

export class LocalRefusal extends Error {
  override readonly name = "LocalRefusal";
  readonly reason: LocalRefusalName;

  constructor(reason: LocalRefusalName, message: string) {
    super(message);
    this.reason = reason;
  }

  get status(): number {
    return catalogue[this.reason].status;
  }
}

export function renderRefusal({
  reason,
  status,
  message,
}: Pick<LocalRefusal, "reason" | "status" | "message">): object {
  const { code, msg = message } = numbers[reason] ?? usual;
  return {
    error_code: code,
    status_code: status,
    msg,
    details: { err: message, code: errorCode(reason), fix: catalogue[reason].fix },
  };
}
