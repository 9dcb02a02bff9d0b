import { text } from "node:stream/consumers";
import { request as requestHttp } from "../../lib/http.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { renderListen } from "../../settings/kinds/address.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { settings } from "../../settings/settings.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure } from "../process/exit.ts";

/** Maximum time for the server's response, milliseconds. Container runtimes usually allow more. */
const answerMs = 4_000;

export const health = defineCommand({
  name: "health",
  doc: "Ask the server on this machine whether it is ready for traffic (`GET /readyz`). The command reads the server's own settings. Exits with 1 if the server is not ready, and with 4 if it does not answer.",
  operands: "",
  least: 0,
  most: 0,
  settings: { config: settings.config, apiListen: settings.apiListen, json: settings.json },
  examples: ["postern health", "postern health --api-listen 127.0.0.1:4700 --json"],
  async run({ apiListen, json }) {
    const at = { host: localHost(apiListen.host), port: apiListen.port };
    const { status, body } = await requestReadiness(at);
    const isReady = status === 200;
    const reason = toVisibleLine(body.split("\n")[0] ?? "");
    process.stdout.write(json ? `${JSON.stringify({ ready: isReady, reason })}\n` : `${reason}\n`);
    return isReady ? exitCodes.fine : exitCodes.unexpected;
  },
});

/** Returns an address at which this machine reaches a listener. A minimal container cannot resolve `localhost`. */
function localHost(host: string | undefined): string {
  if (host === undefined || host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

async function requestReadiness(
  at: ListenAddress & { readonly host: string },
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>();
  const options = { ...at, path: "/readyz", agent: false, signal: AbortSignal.timeout(answerMs) };
  const request = requestHttp(options, (response) => {
    text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
  });
  request.on("error", reject);
  request.end();
  try {
    return await promise;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(
      "unreachable",
      `no server answers at ${renderListen(at)} (${code === "ABORT_ERR" ? `no answer within ${answerMs / 1000} s` : (code ?? message)}): start one, or set --api-listen to the address of its API`,
      { cause: error },
    );
  }
}
