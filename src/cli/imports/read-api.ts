/** Reads responses of the hosted service's API: from the service itself, or from a folder with saved responses. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { PosternError, makeSend } from "../../../sdk/src/index.ts";
import type { FetchAnswer, FetchInit, Send } from "../../../sdk/src/index.ts";
import { collectionPaths, maxObjects, objectsOf } from "../../import/api/api-objects.ts";
import type { ApiObject } from "../../import/api/api-objects.ts";
import { ImportIssue } from "../../import/report/report.ts";
import type { ReportLine } from "../../import/report/report.ts";
import { JsonIssue, parseJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { apiFailure, sendOverHttp } from "../api/api-client.ts";
import { readSourceBytes } from "./read-source.ts";

/** Maximum number of files in a folder. */
const maxFiles = 1_000;
/** Maximum size of a saved response, bytes. */
const maxAnswerBytes = 16_777_216;

export interface ApiAnswers {
  readonly objects: readonly ApiObject[];
  /** Lines about data that could not be read. */
  readonly report: readonly ReportLine[];
}

/** Reads every page of every collection. Skips collections that the service does not have. */
export async function readLiveApi(baseUrl: string, apiKey: string): Promise<ApiAnswers> {
  const send = makeSend({ baseUrl, apiKey, fetch: sendWithVersion });
  const objects: ApiObject[] = [];
  const report: ReportLine[] = [];
  for (const path of collectionPaths) {
    try {
      for await (const page of pagesOf(send, path)) objects.push(...objectsOf(page, `GET ${path}`));
    } catch (error) {
      if (error instanceof PosternError && error.status === 404) continue;
      if (!(error instanceof PosternError) || error.status !== 403) throw apiFailure(error);
      const text = "the API key may not read these objects. Use a key with more rights";
      report.push({ place: { file: `GET ${path}` }, key: path, kind: "left out", text, guardsAccess: true });
    }
    checkCount(objects, path);
  }
  return { objects, report };
}

async function* pagesOf(send: Send, path: string): AsyncGenerator<JsonObject> {
  const seen = new Set<string>();
  let query = "?limit=100";
  while (query !== "") {
    const page = (await send("GET", path + query, undefined, {})) as JsonObject;
    yield page;
    const next = page["next_page_uri"];
    // Only the cursor is used, because the key must not be sent to another address.
    const before =
      typeof next === "string" ? URL.parse(next, "http://unused.invalid")?.searchParams.get("before_id") : undefined;
    if (!before || seen.has(before)) return;
    seen.add(before);
    query = `?limit=100&before_id=${encodeURIComponent(before)}`;
  }
}

/** The hosted service requires its API version in a header field. */
function sendWithVersion(url: string, init: FetchInit): Promise<FetchAnswer> {
  return sendOverHttp(url, { ...init, headers: { ...init.headers, "ngrok-version": "2" } });
}

/** Reads every `.json` file of a folder, sorted by name. Subfolders and links are refused. */
export function readSavedAnswers(folder: string): ApiAnswers {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name.endsWith(".json"));
  if (entries.length === 0)
    throw new ImportIssue({ file: folder }, "the folder has no .json files: save one answer of the API in each");
  if (entries.length > maxFiles)
    throw new ImportIssue({ file: folder }, `the folder has more than ${maxFiles} .json files`);
  const objects: ApiObject[] = [];
  const pages = new Map<string, { readonly file: string; readonly isLast: boolean }[]>();
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const place = { file: entry.name };
    if (!entry.isFile())
      throw new ImportIssue(place, "this is not a regular file: replace links by the files themselves");
    const bytes = readSourceBytes(join(folder, entry.name), maxAnswerBytes);
    const answer = readAnswer(bytes, entry.name);
    objects.push(...objectsOf(answer, entry.name));
    checkCount(objects, entry.name);
    for (const [key, list] of Object.entries(answer)) {
      if (!Array.isArray(list)) continue;
      const known = pages.get(key) ?? [];
      pages.set(key, [...known, { file: entry.name, isLast: typeof answer["next_page_uri"] !== "string" }]);
    }
  }
  const report = [...pages].flatMap(([key, files]): ReportLine[] => {
    const last = files.at(-1);
    if (last === undefined || files.some(({ isLast }) => isLast)) return [];
    const text = `the answer has another page, which is not in the folder. Save the page of next_page_uri, too`;
    return [{ place: { file: last.file, pointer: "/next_page_uri" }, key, kind: "left out", text, guardsAccess: true }];
  });
  return { objects, report };
}

function readAnswer(bytes: Buffer, file: string): JsonObject {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof JsonIssue) throw new ImportIssue({ file }, `the file ${error.message}`, { cause: error });
    throw error;
  }
}

function checkCount(objects: readonly unknown[], file: string): void {
  if (objects.length > maxObjects) throw new ImportIssue({ file }, `there are more than ${maxObjects} objects`);
}
