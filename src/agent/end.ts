import { errorCode, Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";
import { parseWireCode } from "../tunnel/wire-error.ts";

/** Why an agent gave up. */
export interface AgentEnd {
  readonly reason: "credentials" | "name_taken" | "refused" | "untrusted" | "unreachable" | "stopped";
  readonly message: string;
  /** From the error catalogue, if the server sent one. */
  readonly code?: string;
}

/** Refusals that a retry cannot change. */
const endings: readonly (readonly [AgentEnd["reason"], readonly RefusalName[]])[] = [
  ["credentials", ["agent_token_unknown", "agent_api_key", "agent_code_unknown"]],
  ["name_taken", ["agent_name_taken", "hostport_held"]],
  [
    "refused",
    ["agent_denied", "agent_option_unsupported", "agent_request_invalid", "labels_invalid", "hostport_invalid"],
  ],
];

/** Not the agent's fault: the server has lost its database for now. */
const passing: RefusalName = "agent_name_unconfirmed";

/**
 * Returns how `error` ends the agent, or undefined if a retry may succeed. `retries`: connection losses are retried.
 */
export function endOf(error: unknown, retries: boolean): AgentEnd | undefined {
  const { message, code } = error as NodeJS.ErrnoException;
  if (error instanceof Refusal) {
    const ending = endings.find(([, reasons]) => reasons.includes(error.reason));
    if (ending) return { reason: ending[0], message: `${message} (${error.code})`, code: error.code };
    return retries || error.reason === passing ? undefined : { reason: "refused", message, code: error.code };
  }
  if (retries) return undefined;
  const untrusted = code !== undefined && /^ERR_TLS_CERT|^CERT_|_CERT(?:_|$)|^UNABLE_TO_/.test(code);
  return { reason: untrusted ? "untrusted" : "unreachable", message: describeLoss(error) };
}

/** Returns how the agent ends when the server removes its tunnel. */
export function endOfTunnel(message: string, code: string): AgentEnd {
  const reason = parseWireCode(code);
  const ending = reason && endings.find(([, reasons]) => reasons.includes(reason));
  const own = reason ? errorCode(reason) : code;
  return { reason: ending?.[0] ?? "refused", message: `${message} (${own})`, code: own };
}

/** Describes a connection failure, as the end of a sentence. */
export function describeLoss(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (code === "ENOTFOUND") return "the host does not exist";
  if (code === "EAI_AGAIN") return "its name could not be resolved";
  if (code === "ECONNRESET" || code === "EPIPE") return "the connection was cut";
  if (code === "ETIMEDOUT" || code === "EHOSTUNREACH" || code === "ENETUNREACH") return "no route to the host";
  // Node appends advice that only its direct users can follow.
  return message === "" ? (code ?? "unknown error") : message.replace(/; if the root CA is installed locally.*$/, "");
}
