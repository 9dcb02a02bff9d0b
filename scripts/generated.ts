/** Files that are made from the declarations and committed: path → content. */
import { describeApi, operationLines } from "../src/api/openapi.ts";
import { describedOperations } from "../src/api/operations.ts";

export function generatedFiles(): ReadonlyMap<string, string> {
  const operations = describedOperations();
  return new Map([
    ["openapi.json", `${JSON.stringify(describeApi(operations), undefined, 2)}\n`],
    ["operations.txt", operationLines(operations)],
  ]);
}
