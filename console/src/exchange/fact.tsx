/** A name and what there is of it. */
import type { ComponentChildren } from "preact";

interface Props {
  readonly name: string;
  /** The colour beside the name, as a bar has it. */
  readonly tone?: string;
  readonly children: ComponentChildren;
}

export function Fact({ name, tone, children }: Props) {
  return (
    <div>
      <dt class="muted">
        {tone !== undefined && <span class={`key ${tone}`} aria-hidden="true" />}
        {name}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
