/** The payloads of webhooks: one with colors, or the differences of two. */
import { useState } from "preact/hooks";
import type { InboxPayload } from "../../../sdk/src/index.ts";
import "../exchange/exchange.css";
import { Diff } from "../ui/diff.tsx";
import { JsonText } from "../ui/json-text.tsx";
import { postern } from "./api.ts";
import { Failed } from "./parts.tsx";
import { linkTo } from "./router.ts";
import { useData } from "./use-data.ts";

/** Loaded only on request, because it may contain personal data. */
export function Payload({ id }: { readonly id: string }) {
  const [isShown, setShown] = useState(false);
  const { value, error } = useData(
    async () => (isShown ? await postern.inboxMessages.payload.get(id) : undefined),
    [id, isShown],
  );
  if (!isShown) {
    return (
      <button type="button" onClick={() => setShown(true)}>
        Show the payload
      </button>
    );
  }
  const json = value && formatJson(value);
  return (
    <section class="column tight" aria-label="Payload">
      <h3>Payload</h3>
      <Failed error={error} />
      {value && (
        <>
          <pre class="box mono">{fieldsText(value)}</pre>
          {json === undefined ? <pre class="box mono">{bodyText(value)}</pre> : <JsonText text={json} />}
        </>
      )}
    </section>
  );
}

/** Shows what differs in the second webhook. */
export function Comparison({ ids }: { readonly ids: readonly [string, string] }) {
  const { value, error, again } = useData(
    async () => await Promise.all(ids.map((id) => postern.inboxMessages.payload.get(id))),
    ids,
  );
  const [before, after] = (value ?? []).map((one) => `${fieldsText(one)}\n\n${formatJson(one) ?? bodyText(one)}`);
  return (
    <article class="column" aria-label="Comparison">
      <h2>Differences</h2>
      <p class="row">
        {ids.map((id) => (
          <a key={id} class="mono cut" href={linkTo("inbox", id)}>
            {id}
          </a>
        ))}
      </p>
      <Failed error={error} again={again} />
      {before !== undefined && after !== undefined && <Diff before={before} after={after} around={3} />}
    </article>
  );
}

function fieldsText({ headers }: InboxPayload): string {
  return headers.map((one) => `${one.name}: ${one.value}`).join("\n");
}

function bodyText({ is_base64: isBase64, body }: InboxPayload): string {
  return isBase64 ? `base64: ${body}` : body;
}

/** Returns the body in lines if it is JSON. */
function formatJson({ is_base64: isBase64, body }: InboxPayload): string | undefined {
  if (isBase64) return undefined;
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2);
  } catch {
    return undefined;
  }
}
