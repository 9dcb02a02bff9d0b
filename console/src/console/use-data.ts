/** What a part of the page shows and has to ask for. */
import { useEffect, useState } from "preact/hooks";
import { explainError } from "./api.ts";

export interface Data<T> {
  /** The last that came, also while a newer one is asked for. */
  readonly value: T | undefined;
  readonly error: string;
  again(): void;
}

/** Asks again when anything of `on` is otherwise. */
export function useData<T>(ask: () => Promise<T>, on: readonly unknown[]): Data<T> {
  const [state, setState] = useState<{ value: T | undefined; error: string }>({ value: undefined, error: "" });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let isStale = false;
    ask().then(
      (value) => !isStale && setState({ value, error: "" }),
      (error: unknown) => !isStale && setState((before) => ({ ...before, error: explainError(error).message })),
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
