import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { connectServer } from "../../agent/connect.ts";
import type { ConnectOptions } from "../../agent/connect.ts";
import { describeLoss, endOf } from "../../agent/end.ts";
import { greetServer } from "../../agent/greet.ts";
import { authorityOf, joinServer, OtherAuthority, renderAddress } from "../../agent/join.ts";
import { systemClock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { parseJoinCode } from "../../lib/join-code.ts";
import type { JoinCode } from "../../lib/join-code.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { agentSettings } from "../../settings/agents.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, optional, toggle } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { agentValues } from "../agent-files/agent-values.ts";
import { fileToChange } from "../agent-files/default-file.ts";
import { agentConfig, connectOf } from "../agent/agent-access.ts";
import { agentFailure } from "../agent/agent-failure.ts";
import { storeLogin } from "../agent/stored-login.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure, failOnError } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";
import { readSecret } from "../terminal/read-secret.ts";

const { proxy, dnsServer, connectTimeout } = agentSettings;

/** Maximum length of an agent token's name, bytes. */
const maxNameBytes = 255;
const next = "postern http 3000";

export const join = defineCommand({
  name: "join",
  doc: "Connect this machine to a server with a code from `postern invite` or the console. The command verifies the server by the CA in the code, gets its own agent token, and stores the server, the CA and the token for later commands. Without CODE, the command asks for the code, or reads stdin if stdin is not a terminal.",
  operands: "[CODE]",
  least: 0,
  most: 1,
  settings: {
    files: agentConfig,
    name: flagOnly(optional("Name of the agent token (default: this machine's host name).", namedText("NAME"))),
    force: flagOnly(toggle("Join even if this machine has joined the server already. The stored token is replaced.")),
    proxy,
    dnsServer,
    connectTimeout,
    json: settings.json,
  },
  examples: ["postern join pj1_…", "postern join --name build-3 pj1_…"],
  async run({ files, name = hostname(), force, json, ...values }, [given]) {
    const text = given ?? (await readSecret("Code (not shown): "));
    const code = failOnError("the code", () => parseJoinCode(text.trim()));
    if (Buffer.byteLength(name) > maxNameBytes)
      throw new Failure("usage", `--name must be at most ${maxNameBytes} bytes`);
    const path = fileToChange(files, process.env);
    const way = connectOf(values);
    const ca = await explainFailure(code, authorityOf(code, way));
    const server = renderAddress(code);
    const print = (account: string, isKnown: boolean): number => {
      const named = account === "" ? "" : ` (account ${toVisibleLine(account)})`;
      const did = isKnown ? `this machine has already joined ${server}${named}` : `joined ${server}${named}`;
      const facts = { server, account, agent_file: path, already_joined: isKnown, next };
      process.stdout.write(json ? `${JSON.stringify(facts)}\n` : `${did}, stored in ${path}\nNext: ${next}\n`);
      return exitCodes.fine;
    };
    const known = force ? undefined : await accountOf(path, code, ca, way);
    if (known !== undefined) return print(known, true);
    const { token, accountName } = await explainFailure(code, joinServer(code, ca, name, systemClock, way));
    storeLogin(path, code, ca, token);
    return print(accountName, false);
  },
});

/** Returns the account of the file's token for this server, or undefined without a working token. */
async function accountOf(
  path: string,
  code: JoinCode,
  ca: string | undefined,
  way: ConnectOptions,
): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const stored = agentValues([path], () => {});
  const token = stored.get("authtoken")?.[0];
  if (stored.get("server")?.[0] !== renderAddress(code) || token === undefined) return undefined;
  try {
    const socket = await connectServer(code, ca, new AbortController().signal, way);
    return (await greetServer(socket, token, systemClock, posternVersion(), way.timeoutMs)).accountName;
  } catch (error) {
    if (error instanceof Refusal && error.reason === "agent_token_unknown") return undefined;
    throw failureOf(error, code);
  }
}

async function explainFailure<T>(code: JoinCode, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failureOf(error, code);
  }
}

function failureOf(error: unknown, code: JoinCode): Failure {
  const server = renderAddress(code);
  if (error instanceof OtherAuthority) {
    const advice = "somebody may intercept the connection: check the network, then ask for a new code";
    return new Failure("unreachable", `${error.message}, and the code was not sent: ${advice}`, { cause: error });
  }
  if (error instanceof Refusal && error.reason === "agent_code_unknown") {
    const sentence = `the server ${server} rejected the code: ${toVisibleLine(error.message)} Ask for another code.`;
    return new Failure("credentials", sentence, { cause: error, code: error.code });
  }
  return agentFailure(endOf(error, false) ?? { reason: "unreachable", message: describeLoss(error) }, code);
}
