/** Explains a described request without sending it. */
import { useState } from "preact/hooks";
import type { Explanation } from "../../../sdk/src/index.ts";
import { Tag } from "../ui/elements.tsx";
import { statusTone } from "../ui/format.ts";
import { explainError, postern } from "./api.ts";
import { Copies } from "./copies.tsx";
import type { Description } from "./description.ts";
import { Reference } from "./reference.tsx";
import { Failed, Head, Outcome } from "./parts.tsx";
import { RequestFields, toDescribedRequest, nothingDescribed } from "./request-form.tsx";
import { place } from "./router.ts";
import { Steps } from "./steps.tsx";
import { useData } from "./use-data.ts";

export function Explain({ description }: { readonly description: Description }) {
  const edges = useData(async () => (await postern.edges.https.list({ limit: 1 }).page()).items, []);
  const [edge, setEdge] = useState(place.value.query.get("edge") ?? "");
  const [described, setDescribed] = useState(nothingDescribed);
  const [answer, setAnswer] = useState<Explanation>();
  const [error, setError] = useState("");
  const chosen = edge || edges.value?.[0]?.id || "";
  const ask = async (): Promise<void> => {
    try {
      setAnswer(await postern.edges.https.explain(chosen, toDescribedRequest(described)));
      setError("");
    } catch (failure) {
      setAnswer(undefined);
      const { message, fields: wrong } = explainError(failure);
      setError([message, ...Object.entries(wrong).map(([name, text]) => `${name} ${text}`)].join("; "));
    }
  };
  return (
    <section class="column" aria-label="Explain">
      <Head title="Explain" doc="Describe a request to see what the edge would do. No request is sent." />
      {edges.value?.length === 0 && (
        <div class="empty">
          <p>There are no HTTPS edges yet.</p>
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
          <div class="field grow">
            <label for="explain-edge">Edge</label>
            <Reference
              id="explain-edge"
              kinds={["https_edge"]}
              value={chosen}
              isRequired
              description={description}
              onChange={(next) => setEdge(typeof next === "string" ? next : "")}
            />
          </div>
        </div>
        <RequestFields value={described} onChange={setDescribed} />
        <div class="row">
          {chosen !== "" && (
            <Copies method="POST" path={`/edges/https/${chosen}/explain`} body={toDescribedRequest(described)} />
          )}
          <span class="grow" />
          <button type="submit" class="primary" disabled={chosen === ""}>
            Explain
          </button>
        </div>
      </form>
      <Failed error={error} />
      {answer && (
        <section class="column" aria-label="Explanation">
          {answer.near_routes.map((one) => (
            <p key={one.id} class="small muted">
              Route <span class="mono">{one.match}</span> does not match: {one.reason}
            </p>
          ))}
          <Answer answer={answer} description={description} />
        </section>
      )}
    </section>
  );
}

interface AnswerProps {
  readonly answer: Pick<Explanation, "outcome" | "status_code" | "steps">;
  readonly description: Description;
  /** Title before the outcome. */
  readonly title?: string;
}

/** Shows an explanation. */
export function Answer({ answer, description, title = "The result would be" }: AnswerProps) {
  return (
    <>
      <h2>
        {title} <Outcome outcome={answer.outcome} />{" "}
        {answer.status_code !== null && <Tag tone={statusTone(answer.status_code)}>{answer.status_code}</Tag>}
      </h2>
      <Steps steps={answer.steps} description={description} />
    </>
  );
}
