import { collections } from "../../src/traffic/variables/message-variables.ts";
import { variables } from "../../src/traffic/variables/variables.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";

export function variablesPage(): string {
  const rows = Object.entries(variables).map(([name, { doc }]) => [toCode(name), doc]);
  const named = Object.entries(collections).map(([name, { doc }]) => [toCode(`${name}['NAME']`), doc]);
  const introduction =
    "Variables for `${…}` in the values of [request_headers](modules.md#request_headers) and [response_headers](modules.md#response_headers). A variable is read when the header is written. Unknown values and unlisted names are empty.";
  return renderPage("Variables", introduction, [
    renderTable(["Name", "Meaning"], rows),
    "Each of these has names below it, also as `req.headers.NAME`:\n\n",
    renderTable(["Name", "Meaning"], named),
  ]);
}
