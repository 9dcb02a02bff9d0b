/** Small components of both pages. */
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Check, Copy as CopyIcon, Moon, Sun, X } from "lucide";
import { timeText } from "./format.ts";
import type { Tone } from "./format.ts";
import { Icon } from "./icon.tsx";
import { theme, toggleTheme } from "./theme.ts";

/** Placeholder while data is loading. */
export function Skeleton({ lines = 5 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        <i key={at} />
      ))}
    </div>
  );
}

/** A coloured dot. The text beside it has the same meaning. */
export function Dot({ tone = "" }: { readonly tone?: Tone }) {
  return <span class={`dot ${tone}`} aria-hidden="true" />;
}

export function Tag({ tone = "", children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`tag ${tone}`}>{children}</span>;
}

/** Shows an error; nothing while `text` is empty. */
export function Failure({ text }: { readonly text: string }) {
  if (text === "") return null;
  return (
    <p class="notice bad" role="alert">
      {text}
    </p>
  );
}

/** Local time, with UTC as tooltip. */
export function Time({ at }: { readonly at: string | number }) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={time.toISOString()} title={`${time.toISOString()} (UTC)`}>
      {timeText(time)}
    </time>
  );
}

interface TypedProps {
  readonly value: string;
  /** Called with the current text. */
  readonly onText: (text: string) => void;
  readonly id?: string;
  readonly class?: string;
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly required?: boolean;
  /** Whether a dialog gives it the focus first. */
  readonly autofocus?: boolean;
  readonly "aria-label"?: string;
  readonly "aria-invalid"?: boolean;
}

interface TextInputProps extends TypedProps {
  readonly type?: "text" | "password" | "search";
  readonly size?: number;
  readonly autocomplete?: "off";
  /** Id of the list of suggestions. */
  readonly list?: string;
}

export function TextInput({ onText, ...rest }: TextInputProps) {
  // Preact has a separate type for each type of input.
  const props = rest as InputHTMLAttributes;
  return <input {...props} onInput={(event) => onText(event.currentTarget.value)} />;
}

interface TextAreaProps extends TypedProps {
  readonly rows: number;
  readonly spellcheck?: boolean;
}

export function TextArea({ onText, ...rest }: TextAreaProps) {
  return <textarea {...rest} onInput={(event) => onText(event.currentTarget.value)} />;
}

interface CopyProps {
  /** The text, or a function that creates it on demand. */
  readonly text: string | (() => string | Promise<string>);
  readonly children?: ComponentChildren;
  readonly label?: string;
  readonly kind?: string;
  /** Shown after the copy; default: `Copied`. */
  readonly done?: ComponentChildren;
}

/** A button that copies a text and confirms it. */
export function Copy({ text, children, label, kind = "plain tiny", done = "Copied" }: CopyProps) {
  const [state, setState] = useState<ComponentChildren>("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      setState(done);
    } catch {
      setState("Not allowed");
    }
    setTimeout(() => setState(""), 1_500);
  };
  return (
    <button type="button" data-copies="" class={kind} aria-label={label} title={label} onClick={() => void copy()}>
      <span aria-live="polite">{state || (children ?? "Copy")}</span>
    </button>
  );
}

/** A copy button without words, for narrow places. */
function CopySign({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <Copy text={text} label={label} done={<Icon of={Check} />}>
      <Icon of={CopyIcon} />
    </Copy>
  );
}

/** A command for a terminal. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <CopySign text={text} label={`Copy: ${text}`} />
    </span>
  );
}

export function ThemeButton() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="plain"
      onClick={toggleTheme}
      aria-label={`Use ${other} colours`}
      title={`Use ${other} colours`}
    >
      <Icon of={theme.value === "dark" ? Sun : Moon} />
    </button>
  );
}

interface DialogProps {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  onClose(): void;
}

/** A modal dialog. Escape closes it and returns the focus to its previous element. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} onClose={onClose} aria-labelledby={titleId}>
      <header>
        <h2 id={titleId} class="grow">
          {title}
        </h2>
        <button type="button" class="plain tiny" onClick={() => element.current?.close()} aria-label="Close">
          <Icon of={X} />
        </button>
      </header>
      <div class="inside">{children}</div>
    </dialog>
  );
}

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly chosen: Name;
  onChoose(name: Name): void;
}

export function Tabs<Name extends string>({ label, names, chosen, onChoose }: TabsProps<Name>) {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = (names.indexOf(chosen) + step + names.length) % names.length;
    onChoose(names[next] as Name);
    const tabs = (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]");
    tabs[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map((name) => (
        <button
          type="button"
          role="tab"
          key={name}
          tabIndex={name === chosen ? 0 : -1}
          aria-selected={name === chosen}
          onClick={() => onChoose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
