/** `postern api METHOD PATH [JSON]`: sends one request, written as in the API reference and the console. */
import { operations } from "../../../sdk/src/index.ts";
import { apiFailure, openSend } from "../api/api-client.ts";
import type { apiSettings } from "../api/api-client.ts";
import { printAnswer } from "../api/print-answer.ts";
import { readBody } from "../api/request-body.ts";
import { sharedSettings, writeOptions, writeSettings } from "../api/write-settings.ts";
import { defineCommand } from "../command/command.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import type { ValuesOf } from "../../settings/setting.ts";

const methods: readonly string[] = ["GET", "POST", "PATCH", "PUT", "DELETE"];

export function isMethod(word: string): boolean {
  return methods.includes(word);
}

/** @param method first word after `api`, which is part of the command's name */
export function requestCommand(method: string) {
  return defineCommand({
    name: `api ${method}`,
    doc: "Send one request to the API, and print the body of the response. PATH can have a query. The body is JSON, @FILE (JSON, or YAML by its name), or @- for standard input.",
    operands: method === "GET" ? "PATH" : "PATH [JSON|@FILE]",
    least: 1,
    most: method === "GET" ? 1 : 2,
    taken: 1,
    settings: { ...(method === "GET" ? {} : writeSettings), ...sharedSettings },
    examples: [
      "postern api GET '/ip_policies?limit=5'",
      `postern api POST /ip_policies '{"description":"office"}'`,
      "postern api DELETE '/ip_policies/ID?dry_run=true'",
    ],
    async run(values: Readonly<Record<string, unknown>>, [path = "", given]: readonly string[]) {
      if (!/^\/[\x21-\x7e]*$/.test(path)) {
        throw new Failure("usage", `PATH must begin with "/" and contain only visible ASCII characters: "${path}"`);
      }
      const body = given === undefined ? undefined : await readBody(given, "the body");
      const send = await openSend(values as ValuesOf<typeof apiSettings>);
      const asText = answersText(method, path);
      const answer = await send(method, path, body, { ...writeOptions(values), asText }).catch((error: unknown) => {
        throw apiFailure(error);
      });
      printAnswer(`${method} ${path}`, answer, answer !== undefined || values["json"] === true);
      return exitCodes.fine;
    },
  });
}

function answersText(method: string, path: string): boolean {
  const name = path.replace(/[?#].*$/s, "");
  return operations.some((one) => one.method === method && one.path === name && one.answers === "text");
}
