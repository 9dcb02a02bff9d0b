/** Shows a call of the API as equivalent commands. */
import { Copy } from "../ui/elements.tsx";
import { apiCommand, renderCurl, quoteForShell } from "../ui/shell.ts";

interface CopiesProps {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
  /** The object as a document. */
  readonly yaml?: string;
}

export function Copies({ method, path, body, yaml }: CopiesProps) {
  const text = body && JSON.stringify(body);
  const command = renderCurl(`${location.origin}${path}`, method, [
    `-H "Authorization: Bearer $POSTERN_API_KEY" -H 'Service-Version: 2'`,
    ...(text === undefined ? [] : [`-H 'Content-Type: application/json' --data-raw ${quoteForShell(text)}`]),
  ]);
  const cli = apiCommand(method, path, text);
  return (
    <span class="row copies">
      <Copy text={command} kind="tiny">
        Copy as curl
      </Copy>
      <Copy text={cli} kind="tiny">
        CLI
      </Copy>
      {yaml !== undefined && (
        <Copy text={yaml} kind="tiny">
          YAML
        </Copy>
      )}
    </span>
  );
}
