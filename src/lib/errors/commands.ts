import { entry } from "./entry.ts";

/** Why a command ended, where nothing that it called has a code of its own: one for each exit code. */
export const commandErrors = {
  command_unexpected: entry(
    9080,
    500,
    "The command failed in a way that was not foreseen (exit code 1).",
    "The message says what failed; report it with the stack that is printed without `--json`.",
  ),
  command_usage: entry(
    9081,
    400,
    "The command, one of its settings, or a file that it reads is wrong (exit code 2).",
    "The message names what is wrong; `postern COMMAND --help` lists what there is.",
  ),
  command_credentials: entry(
    9082,
    401,
    "The server refused the key or token of the command (exit code 3).",
    "Give the right one, such as by `postern login`; the server prints the first ones when it starts.",
  ),
  command_unreachable: entry(
    9083,
    503,
    "What the command calls does not answer, or cannot be trusted (exit code 4).",
    "`postern diagnose` goes through the way to a server step by step.",
  ),
  command_name_taken: entry(
    9084,
    409,
    "Somebody else has the name that the command asks for (exit code 5).",
    "The message says who holds it; ask for another.",
  ),
  command_upstream: entry(
    9085,
    502,
    "The service that is to be published cannot be reached (exit code 6).",
    "Start it, or publish without `--require-upstream`.",
  ),
  command_refused: entry(
    9086,
    403,
    "A policy, a limit or the state of things forbids what the command asks for (exit code 7).",
    "The message says what stands against it.",
  ),
};
