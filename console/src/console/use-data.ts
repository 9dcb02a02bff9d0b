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
  /** Shows what came otherwise, such as the answer to a write, until what is read again has come. */
  show(value: T): void;
}

/** Asks again when anything of `on` is otherwise. */
export function useData<T>(ask: () => Promise<T>, on: readonly unknown[]): Data<T> {
  const [state, setState] = useState<Omit<Data<T>, "again" | "show">>({ value: undefined, error: "", isGone: false });
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
  const again = (): void => setAsked((count) => count + 1);
  const show = (value: T): void => {
    setState({ value, error: "", isGone: false });
    // What was asked for before may be older.
    again();
  };
  return { ...state, again, show };
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
