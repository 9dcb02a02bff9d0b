import { toVisibleLine } from "../../lib/visible-text.ts";
import { readFileSync } from "node:fs";
import { connectServer, parseServerAddress } from "../../agent/connect.ts";
import { describeLoss, endOf } from "../../agent/end.ts";
import { greetServer } from "../../agent/greet.ts";
import { renderAddress } from "../../agent/join.ts";
import { systemClock } from "../../lib/clock.ts";
import { readCertificates } from "../../lib/certificates/x509.ts";
import { fileToChange } from "../agent-files/default-file.ts";
import { agentConfig, connectOf } from "../agent/agent-access.ts";
import { agentFailure } from "../agent/agent-failure.ts";
import { storeLogin } from "../agent/stored-login.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure, failOnError } from "../process/exit.ts";
import { readSecret } from "../terminal/read-secret.ts";
import { posternVersion } from "../process/version.ts";
import { agentSettings } from "../../settings/agents.ts";

const { ca, authtoken, proxy, dnsServer, connectTimeout } = agentSettings;

export const login = defineCommand({
  name: "login",
  doc: "Test a server, its CA and a token, and store them for later commands. Without --token or --token-file, the command asks for the token, or reads stdin if stdin is not a terminal.",
  operands: "HOST:PORT|URL",
  least: 1,
  most: 1,
  settings: { files: agentConfig, ca, authtoken, proxy, dnsServer, connectTimeout },
  examples: [
    "postern login t.example.com:4443 --ca ca.pem < token",
    "postern login https://agents.example.com --token-file token",
  ],
  async run(values, [given = ""]) {
    const address = failOnError(`"${given}"`, () => parseServerAddress(addressIn(given)));
    const token = values.authtoken ?? (await readSecret(`Token for ${given} (not shown): `));
    if (token === "") throw new Failure("usage", "no token: pass one on stdin, or with --token-file");
    const pem = values.ca === undefined || values.ca === "system" ? undefined : readAuthority(values.ca);
    const server = renderAddress(address);
    let account: string;
    try {
      const way = connectOf(values);
      const socket = await connectServer(address, pem, new AbortController().signal, way);
      account = (await greetServer(socket, token, systemClock, posternVersion(), way.timeoutMs)).accountName;
    } catch (error) {
      throw agentFailure(endOf(error, false) ?? { reason: "unreachable", message: describeLoss(error) }, address);
    }
    const path = fileToChange(values.files, process.env);
    storeLogin(path, address, pem, token);
    process.stdout.write(
      `logged in to ${server}${account === "" ? "" : ` (account ${toVisibleLine(account)})`}, stored in ${path}\n`,
    );
    return exitCodes.fine;
  },
});

/** Returns the address, also from a URL, because people often have only the URL. */
function addressIn(text: string): string {
  return text.replace(/^(?:https|tls|tcp):\/\//i, "").replace(/\/+$/, "");
}

function readAuthority(path: string): string {
  try {
    const pem = readFileSync(path, "utf8");
    readCertificates(pem);
    return pem;
  } catch (error) {
    throw new Failure("usage", `--ca: "${path}" has no valid PEM certificates: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
