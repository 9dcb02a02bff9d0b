/** Compares two exchanges, line by line. */
import { useEffect, useState } from "preact/hooks";
import { Diff } from "../ui/diff.tsx";
import { readBody } from "../exchange/body-kinds.ts";
import { bodyOf } from "../exchange/model.ts";
import type { ShownExchange, Message } from "../exchange/model.ts";
import { showErrors, loadWhole } from "./store.ts";

export function Compare({ one, otherId }: { readonly one: ShownExchange; readonly otherId: string }) {
  const [texts, setTexts] = useState<readonly Texts[]>();
  useEffect(() => {
    void showErrors(async () => {
      const other = await loadWhole(otherId, false);
      // The earlier exchange is on the left.
      const both =
        one.start <= other.start ? [await loadWhole(one.id, false), other] : [other, await loadWhole(one.id, false)];
      setTexts(await Promise.all(both.map(textsOf)));
    });
  }, [one.id, otherId]);
  const [before, after] = texts ?? [];
  if (!before || !after) return <p class="muted">Reading …</p>;
  return (
    <div class="column">
      <p class="muted small">The earlier request in red, the later one in green. Credentials are left out.</p>
      <h3>Request</h3>
      <Diff before={before.request} after={after.request} />
      <h3>Response</h3>
      <Diff before={before.response} after={after.response} />
    </div>
  );
}

interface Texts {
  readonly request: string;
  readonly response: string;
}

async function textsOf({ request, response }: ShownExchange): Promise<Texts> {
  return {
    request: `${request.method} ${request.uri}\n${await textOf(request)}`,
    response: response ? `${response.status}\n${await textOf(response)}` : "(none)",
  };
}

async function textOf(message: Message): Promise<string> {
  const fields = Object.entries(message.headers).flatMap(([name, values]) =>
    values.map((value) => `${name}: ${value}`),
  );
  const read = await readBody(bodyOf(message), message.headers, message.body.cut);
  const body =
    read.kind === "text" || read.kind === "bytes"
      ? read.text
      : read.kind === "pairs"
        ? read.pairs.map(([name, value]) => `${name} = ${value}`).join("\n")
        : read.kind === "events"
          ? read.events.map(({ event, data }) => `${event}: ${data}`).join("\n")
          : "";
  return `${fields.join("\n")}\n\n${body}`;
}
