/** The page of a link that leads into the console, such as an invitation: loading, failed, or its content. */
import type { ComponentChildren } from "preact";
import { Skeleton } from "../ui/elements.tsx";
import { Logo } from "../ui/icon.tsx";
import { Failed } from "./parts.tsx";

interface Props {
  /** Message of a failure; "": none. */
  readonly error: string;
  /** Undefined while it is loading. */
  readonly children: ComponentChildren;
  /** What the person can do about a failure. */
  readonly advice: string;
  /** Label of the button that leaves the page. */
  readonly way: string;
  onLeave(): void;
}

export function OpenedLink({ error, children, advice, way, onLeave }: Props) {
  return (
    <main class="sign-in">
      <div class="panel inside column">
        <h1 class="brand">
          <Logo /> Postern
        </h1>
        {error === "" && !children && <Skeleton lines={4} />}
        {error !== "" && (
          <>
            <Failed error={error} />
            <p>{advice}</p>
            <button type="button" onClick={onLeave}>
              {way}
            </button>
          </>
        )}
        {children}
      </div>
    </main>
  );
}
