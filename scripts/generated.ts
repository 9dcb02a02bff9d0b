/** Generated files that are committed: path → content. */
import { describeApi, operationLines } from "../src/api/description/openapi.ts";
import { describedOperations } from "../src/api/operations.ts";
import { policyJsonSchema } from "../src/policy/policy-json-schema.ts";
import { monitoringFiles } from "./monitoring/files.ts";
import { decisionsIndex } from "./reference/decisions.ts";
import { docsIndex } from "./reference/docs-index.ts";
import { referenceFiles } from "./reference/pages.ts";
import { sdkFiles } from "./sdk/generate.ts";
import type { ApiDescription } from "../src/api/description/description.ts";

export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const operations = describedOperations();
  const api = describeApi(operations);
  return new Map([
    ["openapi.json", `${JSON.stringify(api, undefined, 2)}\n`],
    ["operations.txt", operationLines(operations)],
    ...(await referenceFiles(operations)),
    decisionsIndex(),
    docsIndex(),
    ...monitoringFiles(),
    ["docs/reference/policy.schema.json", `${JSON.stringify(policyJsonSchema(), undefined, 2)}\n`],
    ...sdkFiles(api as unknown as ApiDescription),
  ]);
}
