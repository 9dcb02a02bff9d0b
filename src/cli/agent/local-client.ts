/** Calls the local API of a running agent, for the commands `postern agent …`. */
import { text } from "node:stream/consumers";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { request as requestHttp } from "../../lib/http.ts";
import { Failure } from "../process/exit.ts";
import { inspectorAddress } from "../../settings/kinds/agents.ts";
import type { InspectorAddress } from "../../settings/kinds/agents.ts";
import type { SettingKind } from "../../settings/kinds/kind.ts";
import { flagOnly, one } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

type InspectorPlace = Exclude<InspectorAddress, "off">;

const place: SettingKind<InspectorPlace> = {
  placeholder: "[HOST:]PORT",
  parse(given) {
    const read = inspectorAddress.parse(given);
    if (read === "off") throw new Error("must be the address of the local API");
    return read;
  },
};

export const localSettings = {
  inspector: flagOnly(
    one("Address of the agent's local API. The agent prints the address when it starts.", place, {
      default: "127.0.0.1:4040",
    }),
  ),
  json: settings.json,
} as const;

/** Body of a response; an empty object if there is none. */
export type LocalAnswer = Readonly<Record<string, unknown>>;

/** Maximum time for the agent's response, milliseconds. The agent may wait for its server. */
const answerMs = 45_000;

/** Calls the API. Throws `Failure` if no agent listens, or if it rejects the call. */
export async function callAgent(at: InspectorPlace, method: string, path: string, body?: object): Promise<LocalAnswer> {
  const where = `${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}`;
  let answer: { readonly status: number; readonly text: string };
  try {
    answer = await sendRequest(at, method, path, body);
  } catch (error) {
    throw new Failure(
      "unreachable",
      `no agent answers at ${where} (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}): start one, or set its address with --inspector`,
      { cause: error },
    );
  }
  let read: LocalAnswer | undefined;
  try {
    read = answer.text === "" ? {} : (JSON.parse(answer.text) as LocalAnswer);
  } catch {
    // Another program listens there.
  }
  if (!read || answer.status >= 400) {
    const details = read?.["details"] as { readonly err?: unknown; readonly code?: string } | undefined;
    const said =
      typeof details?.err === "string" ? details.err : `the answer has status ${answer.status}, which no agent sends`;
    throw new Failure(
      answer.status === 503 ? "unreachable" : "refused",
      `the agent at ${where}: ${toVisibleLine(said)}`,
      {
        code: details?.code,
      },
    );
  }
  return read;
}

async function sendRequest(
  { host, port }: InspectorPlace,
  method: string,
  path: string,
  body: object | undefined,
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const content = body && JSON.stringify(body);
  const headers = content === undefined ? {} : { "content-type": "application/json" };
  const request = requestHttp({ host, port, method, path, headers, timeout: answerMs, agent: false }, (response) => {
    text(response).then((given) => resolve({ status: response.statusCode ?? 0, text: given }), reject);
  });
  request.on("timeout", () => request.destroy(new Error(`no answer within ${answerMs / 1000} s`)));
  request.on("error", reject);
  request.end(content);
  return await promise;
}
