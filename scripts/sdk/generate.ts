/** The generated files of `sdk/`: path → content. */
import type { ApiDescription } from "../../src/api/description/description.ts";
import { sdkOperations } from "./operations.ts";
import { renderErrorCodes, renderOperations, renderResources } from "./resources.ts";
import { renderTypes } from "./types.ts";

export function sdkFiles(api: ApiDescription): [path: string, content: string][] {
  const operations = sdkOperations(api);
  const folder = "sdk/src/generated";
  return [
    [`${folder}/types.ts`, renderTypes(api)],
    [`${folder}/resources.ts`, renderResources(operations)],
    [`${folder}/operations.ts`, renderOperations(operations)],
    [`${folder}/error-codes.ts`, renderErrorCodes(api)],
  ];
}
