/** Edits a request and sends it again. */
import { useState } from "preact/hooks";
import { Dialog, TextArea, TextInput } from "../ui/elements.tsx";
import { base64Of, bodyOf } from "../exchange/model.ts";
import type { ShownExchange } from "../exchange/model.ts";
import type { ReplayEdits } from "./tunnels.ts";
import { showErrors, replayExchange, loadWhole } from "./store.ts";

interface Props {
  readonly exchange: ShownExchange;
  onClose(): void;
}

/** Hidden fields are sent with their original values. */
const hidden = "(hidden)";

export function EditReplay({ exchange, onClose }: Props) {
  const { request } = exchange;
  const before = new TextDecoder().decode(bodyOf(request));
  const lines = Object.entries(request.headers).flatMap(([name, values]) => values.map((value) => `${name}: ${value}`));
  const [method, setMethod] = useState(request.method);
  const [uri, setUri] = useState(request.uri);
  const [fields, setFields] = useState(lines.join("\n"));
  const [body, setBody] = useState(before);
  const send = async (): Promise<void> => {
    const headers = fields === lines.join("\n") ? undefined : await headersOf(fields, exchange);
    const edits: ReplayEdits = {
      ...(method !== request.method && { method }),
      ...(uri !== request.uri && { uri }),
      ...(headers && { headers }),
      ...(body !== before && { body: base64Of(new TextEncoder().encode(body)) }),
    };
    await replayExchange(exchange.id, edits);
    onClose();
  };
  return (
    <Dialog title="Edit and replay" onClose={onClose}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          void showErrors(send);
        }}
      >
        <div class="row">
          <TextInput aria-label="Method" class="mono" size={8} value={method} onText={setMethod} />
          <TextInput aria-label="Path and query" class="mono grow uri" value={uri} onText={setUri} />
        </div>
        <div class="field">
          <label for="edit-fields">Headers, one per line</label>
          <TextArea id="edit-fields" rows={8} spellcheck={false} value={fields} onText={setFields} />
        </div>
        <div class="field">
          <label for="edit-body">Body</label>
          <TextArea id="edit-body" rows={8} spellcheck={false} value={body} onText={setBody} />
        </div>
        <div class="row">
          <span class="muted small grow">The agent sends the request once, directly to the service.</span>
          <button type="submit" class="primary">
            Send
          </button>
        </div>
      </form>
    </Dialog>
  );
}

async function headersOf(text: string, exchange: ShownExchange): Promise<Record<string, string[]>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const secrets = text.includes(hidden) ? (await loadWhole(exchange.id, true)).request.headers : {};
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const at = line.indexOf(":");
    if (at < 1) throw new Error(`"${line}" is not a header: write "name: value".`);
    const name = line.slice(0, at).trim();
    const value = line.slice(at + 1).trim();
    const own = (headers[name] ??= []);
    own.push(value === hidden ? (secrets[name]?.[own.length] ?? value) : value);
  }
  return headers;
}
