import { defineError } from "./entry.ts";

/** Errors for agents, and errors of queries and commands to agents and edges. */
export const agentErrors = {
  // 100–110, 700s: agents
  agent_token_unknown: defineError(
    107,
    401,
    "The agent token is unknown, deleted or expired, or its owner is inactive.",
    "Create a token with `POST /credentials`.",
  ),
  agent_api_key: defineError(
    207,
    401,
    "The agent sent an API key instead of an agent token.",
    "Use a token from `/credentials`. API keys work only for the management API.",
  ),
  agent_denied: defineError(
    720,
    403,
    "The agent token's ACL does not allow this bind.",
    "Add the name to the credential's `acl`, or bind a name that the `acl` lists.",
  ),
  ssh_key_unknown: defineError(
    9190,
    401,
    "The SSH key is unknown, or its owner is inactive.",
    "Add the public key with `POST /ssh_credentials`, or the authority of a certificate with `POST /ssh_certificate_authorities`.",
  ),
  agent_code_unknown: defineError(
    9052,
    401,
    "The join code is unknown, expired or used up.",
    "Create another code with `postern invite` or `POST /agent_invitations`.",
  ),
  agent_join_unavailable: defineError(
    9053,
    503,
    "The control plane cannot check the join code.",
    "Try again. If the server then rejects the code, ask for another one.",
  ),
  agent_inbox_unavailable: defineError(
    9093,
    503,
    "The control plane cannot open or read the agent's inbox.",
    "Try again.",
  ),
  agent_source_denied: defineError(
    726,
    403,
    "The account's IP restriction does not allow the agent's address.",
    "Connect from an address that the restriction's policies allow.",
  ),
  agent_option_unsupported: defineError(
    721,
    400,
    "The agent requested an option that this server does not support.",
    "Configure the option on an edge's route instead.",
  ),
  server_stopping: defineError(
    727,
    503,
    "The server is stopping and accepts no new agents.",
    "Wait. The agent reconnects automatically and tries every address of the server.",
  ),
  agent_name_taken: defineError(
    334,
    409,
    "The requested name is in use.",
    "Choose another name, or stop the tunnel or edge that uses this name.",
  ),
  agent_name_unconfirmed: defineError(
    9051,
    503,
    "The control plane cannot check whether the requested name is free.",
    "Try again. Postern agents retry automatically.",
  ),
  internal_name_demanded: defineError(
    9028,
    400,
    "An endpoint with the binding `internal` has a public name.",
    "Use a host that ends in `.internal`, or another binding.",
  ),
  internal_binding_demanded: defineError(
    9029,
    400,
    "An endpoint whose host ends in `.internal` cannot be public.",
    "Omit the bindings, or set the binding `internal`.",
  ),
  agent_request_invalid: defineError(700, 400, "The server cannot parse the agent's request.", "Update the agent."),
  agent_limit: defineError(
    725,
    429,
    "The session has reached the maximum number of tunnels.",
    "Stop a tunnel, or start another session.",
  ),
  // 800s: commands and queries
  command_unsupported: defineError(
    804,
    400,
    "The agent does not support this command.",
    "Check `agent_version` of the session, and update the agent if it is old.",
  ),
  command_failed: defineError(
    807,
    502,
    "The agent failed to run the command.",
    "Read `msg`: it contains the agent's answer.",
  ),
  command_timeout: defineError(
    810,
    504,
    "The agent did not answer the command in time.",
    "List the sessions again to check whether the agent is still connected.",
  ),
  not_an_agents_endpoint: defineError(
    817,
    400,
    "The endpoint belongs to an edge, not to an agent.",
    "Call `POST /edges/https/{id}/explain` of the edge, or the same operation of a `tls` or `tcp` edge.",
  ),
  // Captured requests of agents
  exchange_no_agent: defineError(
    830,
    409,
    "No agent handled this request, so its headers and body were not captured.",
    "Read the request's trace. The edge or a static backend answered this request.",
  ),
  exchange_agent_gone: defineError(
    831,
    409,
    "The agent that handled this request is no longer connected.",
    "Wait a moment: after a short connection loss, the agent reconnects. An agent that stops deletes its captured requests.",
  ),
  exchange_unsupported: defineError(
    832,
    409,
    "The agent cannot return captured requests. The agent uses a public SDK or an earlier version.",
    "Publish the service with a current Postern agent, for example with `postern http`.",
  ),
  exchange_not_kept: defineError(
    833,
    409,
    "The agent does not capture requests of this tunnel.",
    "Start the agent without `--inspector off`, `--inspect false` (in a file `inspect: false`) and `--inspect-db-size -1`.",
  ),
  exchange_management_off: defineError(
    834,
    403,
    "The agent does not allow remote management.",
    "Open the inspector on the agent's machine, or start the agent with `--remote-management`.",
  ),
  exchange_forgotten: defineError(
    835,
    404,
    "The agent no longer has this request.",
    "Send the request again. The agent keeps a limited number of recent requests.",
  ),
  exchange_busy: defineError(
    836,
    503,
    "Too many reads or replays of requests are running at the same time.",
    "Try again in a moment.",
  ),
  replay_impossible: defineError(
    837,
    409,
    "The agent cannot replay this request.",
    "Send a new request. The body was not captured completely or is unreadable, or the connection switched protocols.",
  ),
  replay_unreachable: defineError(
    838,
    502,
    "The agent cannot reach the local service for the replay.",
    "Start the service.",
  ),
  edge_silent: defineError(
    811,
    504,
    "The edge did not answer in time.",
    "Try again. If the error persists, check with `GET /readyz` that the edge receives the configuration.",
  ),
};

/** Reasons why an agent does not return a captured request, or does not send it again: the names for its response. */
export const agentRefusals = [
  "exchange_not_kept",
  "exchange_management_off",
  "exchange_forgotten",
  "exchange_busy",
  "replay_impossible",
  "replay_unreachable",
] as const satisfies readonly (keyof typeof agentErrors)[];

export type AgentRefusal = (typeof agentRefusals)[number];
