/** What a check has found. */
export interface Finding {
  /** `warning`: it works, and perhaps not for everybody. */
  readonly outcome: "fine" | "warning" | "wrong";
  /** The name or object that it is about. */
  readonly about: string;
  /** What is, and where it is not as it should be, what to do. */
  readonly message: string;
}
