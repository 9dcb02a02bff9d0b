import { defineError } from "./entry.ts";

/** Errors of commands without a code from a called API: one for each exit code. */
export const commandErrors = {
  command_unexpected: defineError(
    9080,
    500,
    "The command failed unexpectedly (exit code 1).",
    "Run the command without `--json` to print the stack, and report it with the message.",
  ),
  command_usage: defineError(
    9081,
    400,
    "The command, one of its settings, or a file that it reads is invalid (exit code 2).",
    "Correct the value that the message names. `postern COMMAND --help` lists all settings.",
  ),
  command_credentials: defineError(
    9082,
    401,
    "The server rejected the command's API key or agent token (exit code 3).",
    "Set a valid one, for example with `postern login`. The server prints the first key and token when it starts.",
  ),
  command_unreachable: defineError(
    9083,
    503,
    "The server does not answer, or its certificate is not trusted (exit code 4).",
    "Run `postern diagnose` to test the connection step by step.",
  ),
  command_name_taken: defineError(
    9084,
    409,
    "Another agent or object holds the name that the command requests (exit code 5).",
    "Request another name. The message names the holder.",
  ),
  command_upstream: defineError(
    9085,
    502,
    "The command cannot reach the service to publish (exit code 6).",
    "Start the service, or publish without `--require-upstream`.",
  ),
  command_refused: defineError(
    9086,
    403,
    "A policy, a limit or the current state does not allow the command (exit code 7).",
    "Resolve the conflict that the message names.",
  ),
};
