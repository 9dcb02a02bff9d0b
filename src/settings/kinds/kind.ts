/** A kind of value for settings: its placeholder in the help, and its parser. */
export interface SettingKind<T> {
  /** Placeholder for the value in the help: its form or unit. */
  readonly placeholder: string;
  /** Throws an `Error` with the allowed values, as "must …". The caller adds the source of the value. */
  parse(text: string): T;
}
