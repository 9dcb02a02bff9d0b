/** A request that is described instead of sent. */
import { useState } from "preact/hooks";
import type { Explanation } from "../../../sdk/src/index.ts";
import { Tag, TextArea, TextInput } from "../ui/elements.tsx";
import { statusTone } from "../ui/format.ts";
import { explainError, postern } from "./api.ts";
import type { Description } from "./description.ts";
import { Failed, Head, Outcome } from "./parts.tsx";
import { place } from "./router.ts";
import { Steps } from "./traffic.tsx";
import { useData } from "./use-data.ts";

export function Explain({ description }: { readonly description: Description }) {
  const edges = useData(async () => (await postern.edges.https.list({ limit: 100 }).page()).items, []);
  const [edge, setEdge] = useState(place.value.query.get("edge") ?? "");
  const [method, setMethod] = useState("GET");
  const [path, setPath] = useState("/");
  const [source, setSource] = useState("");
  const [fields, setFields] = useState("");
  const [email, setEmail] = useState("");
  const [answer, setAnswer] = useState<Explanation>();
  const [error, setError] = useState("");
  const chosen = edge || edges.value?.[0]?.id || "";
  const ask = async (): Promise<void> => {
    try {
      const headers = Object.fromEntries(
        fields
          .split("\n")
          .filter((line) => line.includes(":"))
          .map((line) => [line.slice(0, line.indexOf(":")).trim(), line.slice(line.indexOf(":") + 1).trim()]),
      );
      const asked = {
        method,
        path,
        headers,
        ...(source !== "" && { source_ip: source }),
        ...(email !== "" && { as: { email } }),
      };
      setAnswer(await postern.edges.https.explain(chosen, asked));
      setError("");
    } catch (failure) {
      setAnswer(undefined);
      const { message, fields: wrong } = explainError(failure);
      setError([message, ...Object.entries(wrong).map(([name, text]) => `${name} ${text}`)].join("; "));
    }
  };
  return (
    <section class="column" aria-label="Explain">
      <Head title="Explain" doc="Describe a request, and see what the edge would do with it. Nothing is sent." />
      {edges.value?.length === 0 && (
        <div class="empty">
          <p>There is no HTTPS edge yet to ask.</p>
          <a class="button primary" href="#/publish">
            Publish a service
          </a>
        </div>
      )}
      <form
        class="panel inside column"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <div class="row">
          <select aria-label="Edge" value={chosen} onChange={(event) => setEdge(event.currentTarget.value)}>
            {edges.value?.map((one) => (
              <option key={one.id} value={one.id}>
                {one.hostports?.join(", ") || one.id}
              </option>
            ))}
          </select>
          <TextInput aria-label="Method" class="mono" size={7} value={method} onText={setMethod} />
          <TextInput aria-label="Path" class="mono grow" value={path} onText={setPath} />
        </div>
        <div class="row">
          <TextInput
            aria-label="Source address"
            placeholder="from: your own address"
            value={source}
            onText={setSource}
          />
          <TextInput aria-label="Logged in as" placeholder="logged in as: nobody" value={email} onText={setEmail} />
        </div>
        <TextArea
          aria-label="Headers"
          rows={3}
          placeholder="name: value, one a line"
          value={fields}
          onText={setFields}
        />
        <div class="row">
          <span class="grow" />
          <button type="submit" class="primary" disabled={chosen === ""}>
            Explain
          </button>
        </div>
      </form>
      <Failed error={error} />
      {answer && (
        <section class="column" aria-label="Explanation">
          <h2>
            It would be <Outcome outcome={answer.outcome} />{" "}
            {answer.status_code !== null && <Tag tone={statusTone(answer.status_code)}>{answer.status_code}</Tag>}
          </h2>
          {answer.near_routes.map((one) => (
            <p key={one.id} class="small muted">
              Route <span class="mono">{one.match}</span> does not match: {one.reason}
            </p>
          ))}
          <Steps steps={answer.steps} description={description} />
        </section>
      )}
    </section>
  );
}
