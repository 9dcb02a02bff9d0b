/** What a part of the page shows and has to ask for. */
import { useEffect, useState } from "preact/hooks";
import { explainError, isGone } from "./api.ts";

export interface Data<T> {
  /** The last that came, also while a newer one is asked for. */
  readonly value: T | undefined;
  readonly error: string;
  /** What was asked for is not there, or not any more; `value` is how it was. */
  readonly isGone: boolean;
  again(): void;
}

/** Asks again when anything of `on` is otherwise. */
export function useData<T>(ask: () => Promise<T>, on: readonly unknown[]): Data<T> {
  const [state, setState] = useState<Omit<Data<T>, "again">>({ value: undefined, error: "", isGone: false });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let isStale = false;
    ask().then(
      (value) => !isStale && setState({ value, error: "", isGone: false }),
      (error: unknown) =>
        !isStale && setState(({ value }) => ({ value, error: explainError(error).message, isGone: isGone(error) })),
    );
    return () => {
      isStale = true;
    };
  }, [...on, asked]);
  return { ...state, again: () => setAsked((count) => count + 1) };
}

const settledMs = 250;

/** What somebody types, once they have stopped for a moment. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settledMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
