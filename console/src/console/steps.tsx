/** Shows the steps that decided a request, in order. */
import type { Step } from "../../../sdk/src/index.ts";
import { Tag } from "../ui/elements.tsx";
import { titleOf } from "./description.ts";
import type { Description } from "./description.ts";
import { Name, WithNames } from "./named.tsx";
import { Outcome } from "./parts.tsx";
import { linkTo } from "./router.ts";

export function Steps({ steps, description }: { readonly steps: readonly Step[]; readonly description: Description }) {
  if (steps.length === 0) return <p class="muted">No module changed this request.</p>;
  return (
    <ol class="steps">
      {steps.map(({ by, outcome, reason, decided_by, rule }, at) => {
        const kind = decided_by && description.kinds.has(decided_by.kind) ? decided_by.kind : undefined;
        return (
          <li key={at} class={outcome}>
            <div class="row">
              <strong>{titleOf(by)}</strong>
              <Outcome outcome={outcome} />
              {decided_by && (
                <span class="small muted">
                  {kind !== undefined ? (
                    <Name id={decided_by.id} description={description} text={titleOf(kind)} />
                  ) : (
                    titleOf(decided_by.kind)
                  )}{" "}
                  at <a href={linkTo("history", decided_by.id)}>revision {decided_by.revision}</a>
                </span>
              )}
            </div>
            <p>
              <WithNames text={reason} description={description} />
            </p>
            {rule && <Rule rule={rule} />}
          </li>
        );
      })}
    </ol>
  );
}

/** Shows the values of the rule's expressions, and the effects of its actions. */
function Rule({ rule: { values, actions } }: { readonly rule: NonNullable<Step["rule"]> }) {
  return (
    <ul class="rule small">
      {values.map(({ expression, outcome, parts }, at) => (
        <li key={`e${at}`}>
          <Tag tone={({ true: "good", false: "", error: "bad" } as const)[outcome]}>{outcome}</Tag>{" "}
          <code>{expression}</code>
          {parts.map((part, inner) => (
            <div key={inner} class="muted">
              <code>{part.text}</code> is <code>{part.value}</code>
            </div>
          ))}
        </li>
      ))}
      {actions.map(({ type, outcome, reason }, at) => (
        <li key={`a${at}`}>
          <Tag>{outcome}</Tag> <code>{type}</code> {reason}
        </li>
      ))}
    </ul>
  );
}
