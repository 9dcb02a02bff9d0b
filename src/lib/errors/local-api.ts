import { defineError } from "./entry.ts";

/** Refusals of the agents' local API. Besides these codes, it uses the numbers that scripts know from other agents. */
export const localApiErrors = {
  local_call_invalid: defineError(
    9060,
    400,
    "The agent's local API cannot parse the call.",
    "Correct the value that the message names. The guide on inspecting traffic lists the calls.",
  ),
  local_not_found: defineError(
    9061,
    404,
    "The agent does not have this tunnel or request, or the local API does not have this call.",
    "List the tunnels and requests with `GET /api`. The agent deletes old requests.",
  ),
  local_caller_denied: defineError(
    9062,
    403,
    "The agent's local API does not allow calls with this host name or from this page.",
    "Use `localhost`, or allow the name with `--inspector-host`.",
  ),
  local_type_unsupported: defineError(
    9063,
    415,
    "The call to the agent's local API does not declare a JSON body.",
    "Send `Content-Type: application/json`.",
  ),
  local_body_too_large: defineError(
    9064,
    413,
    "The body of the call to the agent's local API is too large.",
    "Write large policies to an agent file, and start the tunnel from that file.",
  ),
  local_tunnel_invalid: defineError(
    9065,
    400,
    "The tunnel's definition is invalid.",
    "Correct the keys that the message names. `postern config check` checks the same rules in a file.",
  ),
  local_tunnel_refused: defineError(
    9066,
    502,
    "The server rejected the tunnel.",
    "Read the message: it contains the server's reason and error code.",
  ),
  local_not_ready: defineError(
    9067,
    503,
    "The agent has no session with its server.",
    "Try again. The agent reconnects automatically, and `GET /api/status` shows its state.",
  ),
  local_replay_impossible: defineError(
    9068,
    400,
    "The agent cannot replay this request.",
    "Send the missing or invalid parts with the replay.",
  ),
  local_replay_unreachable: defineError(
    9069,
    502,
    "The agent cannot reach the service for the replay.",
    "Start the service, or name another tunnel with `tunnel_name`.",
  ),
  local_busy: defineError(
    9070,
    503,
    "The agent runs too many of these operations at the same time.",
    "Try again in a moment.",
  ),
  local_failed: defineError(
    9071,
    500,
    "The agent's local API had an internal error.",
    "Read the agent's log, and report the error with the call.",
  ),
};
