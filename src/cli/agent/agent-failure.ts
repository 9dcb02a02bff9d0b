import type { ServerAddress } from "../../agent/connect.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import type { AgentEnd } from "../../agent/end.ts";
import { Failure } from "../process/exit.ts";

/** Returns why an agent ended without a signal, as a sentence and an exit code. */
export function agentFailure(end: AgentEnd, server: ServerAddress): Failure {
  const at = `${server.host}:${server.port}`;
  const { code } = end;
  const message = toVisibleLine(end.message);
  switch (end.reason) {
    case "credentials":
      return new Failure(
        "credentials",
        `the server ${at} rejected the agent token: ${message}: set another one with \`postern login ${at}\``,
        { code },
      );
    case "name_taken":
      return new Failure("nameTaken", `the URL is not available: ${message}`, { code });
    case "refused":
      return new Failure("refused", `the server ${at} rejected the request: ${message}`, { code });
    case "untrusted":
      return new Failure(
        "unreachable",
        message.includes("altnames")
          ? `the certificate of the server is for other names than ${server.host} (${message}): connect by one of its names`
          : `the certificate of the server ${at} is not trusted (${message}): set its CA with --ca FILE`,
      );
    case "stopped":
      return new Failure("fine", message);
    case "unreachable":
      return new Failure("unreachable", `cannot reach the server ${at}: ${message}`);
  }
}
