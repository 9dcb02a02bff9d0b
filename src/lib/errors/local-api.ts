import { entry } from "./entry.ts";

/** What the local API of agents refuses; beside these codes it has the numbers that scripts know from other agents. */
export const localApiErrors = {
  local_call_invalid: entry(
    9060,
    400,
    "The call to the agent's local API cannot be understood.",
    "The message names what is wrong; the guide on inspecting traffic lists the calls.",
  ),
  local_not_found: entry(
    9061,
    404,
    "The agent has no such tunnel or request, or its local API no such call.",
    "List what there is with `GET /api`; requests are kept within bounds, and not for ever.",
  ),
  local_caller_denied: entry(
    9062,
    403,
    "The agent's local API may not be called by this name, or from this page.",
    "Call it as `localhost`, or allow the name with `--inspector-host`.",
  ),
  local_type_unsupported: entry(
    9063,
    415,
    "The call to the agent's local API has no JSON.",
    "Send `Content-Type: application/json`.",
  ),
  local_body_too_large: entry(
    9064,
    413,
    "The body of the call to the agent's local API is too large.",
    "Write large policies into an agent's file, and start the tunnel from there.",
  ),
  local_tunnel_invalid: entry(
    9065,
    400,
    "The description of the tunnel is wrong.",
    "The message names each key; `postern config check` says the same of a file.",
  ),
  local_tunnel_refused: entry(
    9066,
    502,
    "The server refuses the tunnel.",
    "The message is the server's; its code is looked up in the same list.",
  ),
  local_not_ready: entry(
    9067,
    503,
    "The agent has no session with its server.",
    "Try again: the agent connects by itself; `GET /api/status` says whether it has.",
  ),
  local_replay_impossible: entry(
    9068,
    400,
    "The request cannot be sent again as it was.",
    "Give what was not kept, or what cannot be sent, with the replay.",
  ),
  local_replay_unreachable: entry(
    9069,
    502,
    "The service that a request was to be sent to again cannot be reached.",
    "Start the service, or name another tunnel with `tunnel_name`.",
  ),
  local_busy: entry(
    9070,
    503,
    "The agent does as much of this at once as it may.",
    "Try again when one of those under way has ended.",
  ),
  local_failed: entry(
    9071,
    500,
    "The agent could not answer the call to its local API.",
    "Its log may say more; report it with the call.",
  ),
};
