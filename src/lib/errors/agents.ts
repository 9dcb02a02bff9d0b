import { entry } from "./entry.ts";

/** What agents are told, and what becomes of questions and commands to them and to edges. */
export const agentErrors = {
  // 100–110, 700s: agents
  agent_token_unknown: entry(
    107,
    401,
    "The agent token is not known, was deleted, has expired, or its owner is inactive.",
    "Create one with `POST /credentials`.",
  ),
  agent_api_key: entry(
    207,
    401,
    "An API key was sent where an agent token is needed.",
    "API keys use the API; agents take the tokens of `/credentials`.",
  ),
  agent_denied: entry(
    720,
    403,
    "The agent token's ACL does not allow this bind.",
    "Extend the credential's `acl`, or bind a name that it lists.",
  ),
  agent_source_denied: entry(
    726,
    403,
    "The account's IP restriction does not admit the agent's address.",
    "Connect from an address that the policies of the restriction allow.",
  ),
  agent_option_unsupported: entry(
    721,
    400,
    "The agent asked for an option that this server does not offer.",
    "Configure it on an edge's route instead.",
  ),
  server_stopping: entry(
    727,
    503,
    "The server is about to stop, and takes no agents any more.",
    "The agent tries again by itself, at each address that the server has.",
  ),
  agent_name_taken: entry(
    334,
    409,
    "The requested name is in use.",
    "Pick another name, or stop the tunnel or edge that has it.",
  ),
  agent_name_unconfirmed: entry(
    9051,
    503,
    "The control plane cannot say now whether the requested name is free.",
    "Try again: agents of ours do so by themselves.",
  ),
  internal_name_demanded: entry(
    9028,
    400,
    "An endpoint with the binding `internal` has a name that everybody could reach.",
    "Give it a host that ends in `.internal`, or another binding.",
  ),
  internal_binding_demanded: entry(
    9029,
    400,
    "An endpoint whose host ends in `.internal` cannot be public.",
    "Leave the bindings out, or ask for `internal`.",
  ),
  agent_request_invalid: entry(700, 400, "The agent's request cannot be read.", "Update the agent."),
  agent_limit: entry(725, 429, "The session holds as many tunnels as it may.", "Stop one, or start another session."),
  // 800s: commands and questions
  command_unsupported: entry(
    804,
    400,
    "The agent does not support this command.",
    "See `agent_version` of the session.",
  ),
  command_failed: entry(807, 502, "The agent could not carry out the command.", "`msg` says what the agent answered."),
  command_timeout: entry(
    810,
    504,
    "The agent did not answer the command in time.",
    "The session may be gone; list the sessions again.",
  ),
  not_an_agents_endpoint: entry(
    817,
    400,
    "The endpoint is that of an edge.",
    "Ask the edge that serves it: `POST /edges/https/{id}/explain`, or that of `tls` and `tcp`.",
  ),
  // What agents have kept of a request
  exchange_no_agent: entry(
    830,
    409,
    "No agent has served the request, so nobody keeps what it carried.",
    "Of a request that was answered at the edge, or went to a static backend, the trace is all that there is.",
  ),
  exchange_agent_gone: entry(
    831,
    409,
    "The agent that has served the request is not connected any more.",
    "What it keeps goes when it ends; after a short loss it is back by itself.",
  ),
  exchange_unsupported: entry(
    832,
    409,
    "The agent cannot be asked for what it has kept of requests: it is one of a public SDK, or of an earlier version.",
    "Publish the service with an agent of this version, such as `postern http`.",
  ),
  exchange_not_kept: entry(
    833,
    409,
    "The agent keeps nothing of what passes this tunnel.",
    "Start the agent without `--inspector off`, `--inspect false` (in a file `inspect: false`) and `--inspect-db-size -1`.",
  ),
  exchange_management_off: entry(
    834,
    403,
    "The agent's operator lets nobody manage it from afar.",
    "Look at it beside the agent, in its inspector; `--remote-management` lets the server ask.",
  ),
  exchange_forgotten: entry(
    835,
    404,
    "The agent does not keep this request any more.",
    "It keeps the last ones, within bounds: send the request again.",
  ),
  exchange_busy: entry(
    836,
    503,
    "As many of these questions to agents, or replays, are under way as may be.",
    "Try again when one of them has ended.",
  ),
  replay_impossible: entry(
    837,
    409,
    "The request cannot be sent again as it was.",
    "Not all of its body was kept, it could not be read, or its connection went on in another protocol.",
  ),
  replay_unreachable: entry(
    838,
    502,
    "The agent cannot reach the service that the request was to be sent to again.",
    "Start the service.",
  ),
  edge_silent: entry(
    811,
    504,
    "The edge did not answer in time.",
    "Try again; `GET /readyz` tells whether it follows the configuration.",
  ),
};

/** Why an agent does not say what it has kept of a request, or does not send it again: the names that it may answer with. */
export const agentRefusals = [
  "exchange_not_kept",
  "exchange_management_off",
  "exchange_forgotten",
  "exchange_busy",
  "replay_impossible",
  "replay_unreachable",
] as const satisfies readonly (keyof typeof agentErrors)[];

export type AgentRefusal = (typeof agentRefusals)[number];
