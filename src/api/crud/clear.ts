/** DELETE of single fields, on separate paths. */
import { typeName } from "../../schema/json-schema.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import { writeChange } from "../objects/change.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { dryRunQuery } from "../objects/dry-run.ts";
import type { Operation } from "../operation/call.ts";
import { withArticle } from "./collection.ts";

export function clearOperations(resource: ResourceDeclaration, context: ObjectContext): Operation[] {
  return (resource.clears ?? []).map(({ path, input }) => ({
    id: `delete${resource.schemaName}${typeName(path)}`,
    method: "DELETE",
    path: `${resource.path}/{id}/${path}`,
    summary: `Unset ${input} of ${withArticle(resource)}. With \`dry_run\`, return the effect without making changes.`,
    resource,
    verb: "clear",
    takes: "nothing",
    query: dryRunQuery,
    status: 204,
    async run(call) {
      const { revision, headers } = await writeChange(resource, call, context, { [input]: null });
      return { status: 204, revision, headers };
    },
  }));
}
