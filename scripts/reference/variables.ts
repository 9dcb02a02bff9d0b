import { collections } from "../../src/traffic/variables/message-variables.ts";
import { variables } from "../../src/traffic/variables/variables.ts";
import { code, page, table } from "./markdown.ts";

export function variablesPage(): string {
  const rows = Object.entries(variables).map(([name, { doc }]) => [code(name), doc]);
  const named = Object.entries(collections).map(([name, { doc }]) => [code(`${name}['NAME']`), doc]);
  const introduction =
    "What `${…}` in the values of [request_headers](modules.md#request_headers) and [response_headers](modules.md#response_headers) can stand for. A variable is read at the moment when the header is written; what is not known then, and names that are not listed, are empty.";
  return page("Variables", introduction, [
    table(["Name", "What it is"], rows),
    "Each of these has names below it, also as `req.headers.NAME`:\n\n",
    table(["Name", "What it is"], named),
  ]);
}
