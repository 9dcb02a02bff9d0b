/** A name with its value. */
import type { ComponentChildren } from "preact";

interface Props {
  readonly name: string;
  /** Colour beside the name, the same as in the bar. */
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
