/** Loads the data of a component. */
import { useEffect, useState } from "preact/hooks";
import { explainError, isGone } from "./api.ts";
import { liveState } from "./live-changes.ts";

export interface Data<T> {
  /** The last loaded value, even while a newer one is loading. */
  readonly value: T | undefined;
  readonly error: string;
  /** The object does not exist, or was deleted; `value` is its last state. */
  readonly isGone: boolean;
  again(): void;
  /** Shows a value from another source, such as the response to a write, until the next load. */
  show(value: T): void;
}

/** Loads again when a value of `on` changes. */
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
  // Another node may answer now.
  const isLive = liveState.value === "live";
  useEffect(() => {
    if (isLive && state.error !== "") setAsked((count) => count + 1);
  }, [isLive]);
  const again = (): void => setAsked((count) => count + 1);
  const show = (value: T): void => {
    setState({ value, error: "", isGone: false });
    // A load that started earlier may return older data.
    again();
  };
  return { ...state, again, show };
}

const settledMs = 250;

/** Returns the typed text after a short pause. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settledMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
